package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gpuctl/gpuctl/internal/config"
	"github.com/gpuctl/gpuctl/internal/tui"
)

// prefsFile is where what an operator set by hand is kept; empty without a home.
func prefsFile(c *config.Config) string {
	dir := c.State(os.Getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "prefs.json")
}

// loadPrefs reads what was kept over what the config says. A file that cannot be
// read is as good as none: preferences are no reason not to start.
func loadPrefs(c *config.Config) tui.Prefs {
	p := tui.Prefs{Theme: c.Theme, Zone: c.TimeZone, Mouse: c.Mouse}
	if text, err := os.ReadFile(prefsFile(c)); err == nil {
		_ = json.Unmarshal(text, &p)
	}
	return p
}

// writePrefs replaces the file as a whole.
func writePrefs(path string, p tui.Prefs) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// userThemes is the operator's own folder of themes, or nil.
func userThemes() fs.FS {
	dir := config.Dir(os.Getenv)
	if dir == "" {
		return nil
	}
	dir = filepath.Join(dir, "themes")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil
	}
	return os.DirFS(dir)
}
