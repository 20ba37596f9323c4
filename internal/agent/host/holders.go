package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Holder is a process that has a GPU's device file open.
type Holder struct {
	PID  int
	Name string
	User string
}

// String is the holder in a few words.
func (h Holder) String() string {
	return fmt.Sprintf("%s (pid %d, %s)", h.Name, h.PID, h.User)
}

// Holders lists the processes that have /dev/nvidiaN open, by pid. A process that may
// not be looked into is not in the list: only root sees all.
func (h Host) Holders(minor int) ([]Holder, error) {
	pids, err := h.pids()
	if err != nil {
		return nil, fmt.Errorf("who holds GPU %d: %w", minor, err)
	}
	device := "/dev/nvidia" + strconv.Itoa(minor)
	var found []Holder
	for _, pid := range pids {
		if h.hasOpen(pid, device) {
			name, _ := h.ProcessName(pid) // empty: it is gone already
			found = append(found, Holder{PID: pid, Name: name, User: h.user(pid)})
		}
	}
	slices.SortFunc(found, func(a, b Holder) int { return a.PID - b.PID })
	return found, nil
}

func (h Host) hasOpen(pid int, device string) bool {
	dir := h.path("proc/" + strconv.Itoa(pid) + "/fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		return err == nil && strings.TrimSuffix(target, " (deleted)") == device
	})
}
