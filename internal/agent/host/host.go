// Package host tells what a node agent wants to know of its machine apart from the
// GPUs: which boot this is, which process belongs to which job or pod, who holds a
// device file, which services run.
//
// Everything is read below a root folder, "/" outside tests, and nothing is executed.
// Processes come and go while they are read about: one that is gone is an error of that
// process alone. It imports fleet.
package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Host is a machine whose file system starts at Root.
type Host struct{ Root string }

func (h Host) path(rel string) string { return filepath.Join(h.Root, rel) }

func (h Host) read(rel string) (string, error) {
	b, err := os.ReadFile(h.path(rel))
	return string(b), err
}

// word is a file's text without white space around it; empty when not readable.
func (h Host) word(rel string) string {
	text, _ := h.read(rel)
	return strings.TrimSpace(text)
}

// BootID is the kernel's id of this boot; empty when not readable.
func (h Host) BootID() string { return h.word("proc/sys/kernel/random/boot_id") }

// MachineID is machine-id(5); empty when not readable.
func (h Host) MachineID() string { return h.word("etc/machine-id") }

// Name is the host name that the kernel has; empty when not readable.
func (h Host) Name() string { return h.word("proc/sys/kernel/hostname") }

// Booted is when the machine started, to some 10 ms.
func (h Host) Booted() (time.Time, error) {
	text, err := h.read("proc/uptime")
	if err != nil {
		return time.Time{}, err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil || !(seconds >= 0 && seconds < 1e9) {
		return time.Time{}, fmt.Errorf("uptime %q is not understood", first)
	}
	return time.Now().Add(-time.Duration(seconds * float64(time.Second))), nil
}

// DisplayDriver reports that nvidia_drm drives displays: then it holds the GPU although
// no process does.
func (h Host) DisplayDriver() bool {
	return h.word("sys/module/nvidia_drm/parameters/modeset") == "Y"
}
