//go:build !cgo

package nvml

import (
	"io"
)

// cgoBuilt says that this build cannot read GPUs.
const cgoBuilt = false

// Serve is the child's side. This build has none.
func Serve(string, io.Reader, io.Writer) error {
	return errNoCgo
}
