package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"sigs.k8s.io/yaml"
)

// SystemFile is read before the user's own file. What it forbids stays forbidden.
const SystemFile = "/etc/gpuctl/config.yaml"

// Options say where to read.
type Options struct {
	File       string              // --config; empty: the usual place
	Getenv     func(string) string // nil: os.Getenv
	SystemFile string              // empty: SystemFile
}

// File is one place that was looked at.
type File struct {
	Path string
	Why  string // "--config", "$GPUCTL_CONFIG", "system", "user"
	Read bool   // false: not there, or Err
	Err  error  // why a user's file could not be read; nothing of it holds
}

// State says in words what became of the file.
func (f *File) State() string {
	switch {
	case f.Read:
		return "read"
	case f.Err != nil:
		return "cannot be read, so nothing of it holds: " + f.Err.Error()
	}
	return "not there"
}

// Load reads the system's file and then the user's over it, and checks the whole.
// Files that are not there are no error, unless one was named; nor is a user's file
// that cannot be read: HOME may be another's, or no folder. Where no home is known,
// only named files and the system's are read.
func Load(o Options) (*Config, []File, error) {
	c := Default()
	files := places(o)
	for i := range files {
		text, err := os.ReadFile(files[i].Path)
		missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		switch why := files[i].Why; {
		case err == nil:
		case missing && (why == "system" || why == "user"):
			continue
		case why == "user":
			files[i].Err = err
			continue
		default:
			return nil, files, fmt.Errorf("config (%s): %w", why, err)
		}
		files[i].Read = true
		if err := c.overlay(text); err != nil {
			return nil, files, fmt.Errorf("config %s: %w", files[i].Path, err)
		}
	}
	if err := c.Validate(); err != nil {
		return nil, files, fmt.Errorf("config %s: %w", readFrom(files), err)
	}
	return &c, files, nil
}

// overlay reads a file over what earlier files said. Lists are replaced as a whole.
func (c *Config) overlay(text []byte) error {
	before := *c
	c.Clusters, c.Checkpoints, c.Nodes = nil, nil, maps.Clone(c.Nodes)
	if err := decode(text, c); err != nil {
		return err
	}
	if c.Clusters == nil {
		c.Clusters = before.Clusters
	}
	if c.Checkpoints == nil {
		c.Checkpoints = before.Checkpoints
	}
	c.keepForbidden(&before)
	return nil
}

// keepForbidden makes the strictest word win: a later file cannot lift read-only.
func (c *Config) keepForbidden(before *Config) {
	c.ReadOnly = c.ReadOnly || before.ReadOnly
	c.TicketRequired = c.TicketRequired || before.TicketRequired
	for _, old := range before.Clusters {
		for i := range c.Clusters {
			if old.ReadOnly && c.Clusters[i].Name == old.Name {
				c.Clusters[i].ReadOnly = true
			}
		}
	}
}

func places(o Options) []File {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	system := o.SystemFile
	if system == "" {
		system = SystemFile
	}
	files := []File{{Path: system, Why: "system"}}
	switch dir := userDir(getenv, "XDG_CONFIG_HOME", ".config"); {
	case o.File != "":
		files = append(files, File{Path: o.File, Why: "--config"})
	case getenv("GPUCTL_CONFIG") != "":
		files = append(files, File{Path: getenv("GPUCTL_CONFIG"), Why: "$GPUCTL_CONFIG"})
	case dir != "":
		files = append(files, File{Path: filepath.Join(dir, "config.yaml"), Why: "user"})
	}
	return files
}

// userDir is gpuctl's folder below an XDG base directory; empty without a home.
func userDir(getenv func(string) string, variable, below string) string {
	if dir := getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gpuctl")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, below, "gpuctl")
	}
	return ""
}

// Dir is gpuctl's config folder, for user themes; empty without a home.
func Dir(getenv func(string) string) string { return userDir(getenv, "XDG_CONFIG_HOME", ".config") }

// State is where the journal, the audit log and preferences lie; empty without a home.
func (c *Config) State(getenv func(string) string) string {
	if c.StateDir != "" {
		return c.StateDir
	}
	return userDir(getenv, "XDG_STATE_HOME", ".local/state")
}

// Audit is where the audit log lies.
func (c *Config) Audit(getenv func(string) string) string {
	if c.AuditDir != "" {
		return c.AuditDir
	}
	if s := c.State(getenv); s != "" {
		return filepath.Join(s, "audit")
	}
	return ""
}

func readFrom(files []File) string {
	for _, file := range slices.Backward(files) {
		if file.Read {
			return file.Path
		}
	}
	return "(defaults)"
}

// YAML writes the config as it holds. It has no secrets in it: tokens are named by
// file, variable or command.
func (c *Config) YAML() ([]byte, error) { return yaml.Marshal(c) }

// Sample is what `gpuctl config init` writes.
const Sample = `# gpuctl: which clusters to watch and act on. Every field: gpuctl config print
clusters:
- name: my-cluster
  slurm:
    local: {}                       # the Slurm commands of this machine
    # ssh: {host: login1}           # or those of a login node, as ssh(1) reaches it
    # rest: {url: "https://slurmrestd.example:6820", user: ops, tokenCommand: [scontrol, token, lifespan=3600]}
  guard: confirm                    # none, confirm or typed
# agents: {via: ssh, jump: login1}  # node agents: started over SSH on every node with GPUs
# agents: {via: socket, socket: "/run/gpuctl/{node}.sock", jump: login1}
limits: {nodesPerWindow: 8, window: 10m, percent: 25}
`
