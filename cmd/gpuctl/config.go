package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gpuctl/gpuctl/internal/config"
)

func newConfig(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Where the config is, what it says, whether it is right"}
	sub := func(use, short string, run func() error) {
		cmd.AddCommand(&cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return run() }})
	}
	sub("path", "Print the files looked at, and which were read", a.configPath)
	sub("print", "Print the config as it holds", a.configPrint)
	sub("validate", "Say what is wrong with the config", a.configValidate)
	sub("init", "Write a first config file", a.configInit)
	return cmd
}

func (a *app) configPath() error {
	_, files, err := config.Load(config.Options{File: a.configFile})
	for _, f := range files {
		fmt.Fprintf(a.stdout, "%s\t%s\t%s\n", f.Path, f.Why, f.State())
	}
	return fail(exitUsage, err)
}

func (a *app) configPrint() error {
	c, _, err := config.Load(config.Options{File: a.configFile})
	if err != nil {
		return fail(exitUsage, err)
	}
	text, err := c.YAML()
	if err != nil {
		return fail(exitFailed, err)
	}
	_, err = a.stdout.Write(text)
	return err
}

func (a *app) configValidate() error {
	c, files, err := config.Load(config.Options{File: a.configFile})
	if err != nil {
		return fail(exitUsage, err)
	}
	read := 0
	for _, f := range files {
		if f.Read {
			read++
			fmt.Fprintf(a.stdout, "%s: right\n", f.Path)
		}
		if f.Err != nil {
			return failf(exitUsage, "%s %s", f.Path, f.State())
		}
	}
	if read == 0 {
		fmt.Fprintln(a.stdout, "no config file: the defaults hold")
	}
	for _, cl := range c.Clusters {
		if cl.Kubernetes != nil {
			fmt.Fprintf(a.stdout, "cluster %s: Kubernetes is not read by this gpuctl yet\n", cl.Name)
		}
	}
	return nil
}

// configInit writes the sample, and never over a file that is there.
func (a *app) configInit() error {
	path := a.configFile
	if path == "" {
		dir := config.Dir(os.Getenv)
		if dir == "" {
			return failf(exitUsage, "no home is known: say where with --config FILE")
		}
		path = filepath.Join(dir, "config.yaml")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fail(exitFailed, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return failf(exitFailed, "%s is there already; nothing was written", path)
	}
	if err != nil {
		return fail(exitFailed, err)
	}
	if _, err := f.WriteString(config.Sample); err != nil {
		return fail(exitFailed, errors.Join(err, f.Close()))
	}
	fmt.Fprintf(a.stdout, "wrote %s\n", path)
	return fail(exitFailed, f.Close())
}
