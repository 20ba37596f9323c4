// Package themes holds the shipped colour themes, one YAML file each. What a
// file may say is described in package internal/tui/theme, which reads them.
//
// It imports the standard library only.
package themes

import "embed"

// FS holds the shipped themes, named NAME.yaml.
//
//go:embed *.yaml
var FS embed.FS
