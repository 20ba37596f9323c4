package slurmtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one process of this machine: a pid is used again, with another start
// time it is another process.
type process struct {
	pid   int
	start uint64 // clock ticks since boot
}

// status is what /proc/PID/stat says.
type status struct {
	dead   bool // it has ended, reaped or not
	parent int
	start  uint64
}

func stat(pid int) (status, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return status{}, err
	}
	// The name in brackets may hold anything; the fields start after the last one.
	f := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(f) < 20 {
		return status{}, fmt.Errorf("stat of %d: %d fields", pid, len(f))
	}
	// A zombie whose other threads still end holds its sockets open.
	dead := (f[0] == "Z" || f[0] == "X") && f[17] == "1"
	parent, err1 := strconv.Atoi(f[1])
	start, err2 := strconv.ParseUint(f[19], 10, 64)
	return status{dead, parent, start}, errors.Join(err1, err2)
}

// newProcess names the process that has a pid now.
func newProcess(pid int) (process, error) {
	s, err := stat(pid)
	return process{pid, s.start}, err
}

// alive is false for a process that has ended, reaped or not: on a machine whose
// pid 1 reaps slowly kill(pid, 0) misleads.
func (p process) alive() bool {
	s, err := stat(p.pid)
	return err == nil && s.start == p.start && !s.dead
}

func (p process) signal(s syscall.Signal) {
	if p.alive() {
		_ = syscall.Kill(p.pid, s) // it may have ended just now
	}
}

// end asks the processes to end, and ends those by force that are left after grace.
func end(grace time.Duration, ps ...process) {
	for _, p := range ps {
		p.signal(syscall.SIGTERM)
	}
	if allGone(grace, ps) {
		return
	}
	for _, p := range ps {
		p.signal(syscall.SIGKILL)
	}
	allGone(5*time.Second, ps)
}

// allGone waits until none of the processes is alive, for at most d.
func allGone(d time.Duration, ps []process) bool {
	for deadline := time.Now().Add(d); ; time.Sleep(10 * time.Millisecond) {
		left := false
		for _, p := range ps {
			left = left || p.alive()
		}
		if !left {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// pids lists the processes of this machine.
func pids() []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var list []int
	for _, d := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(d)); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// withEnv returns the live processes whose environment holds all the entries, in this
// root folder (a cluster in a chroot has the same paths), and all their descendants.
func withEnv(entries ...string) []process {
	var found []process
	for _, pid := range pids() {
		if !hasEnv(pid, entries) || !sameRoot(pid) {
			continue
		}
		if p, err := newProcess(pid); err == nil && p.alive() && pid != os.Getpid() {
			found = append(found, p)
		}
	}
	return withDescendants(found)
}

func hasEnv(pid int, entries []string) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	env := strings.Split(string(raw), "\x00")
	for _, e := range entries {
		if !slices.Contains(env, e) {
			return false
		}
	}
	return true
}

func sameRoot(pid int) bool {
	theirs, err1 := os.Stat(fmt.Sprintf("/proc/%d/root", pid))
	ours, err2 := os.Stat("/")
	return err1 == nil && err2 == nil && os.SameFile(theirs, ours)
}

// withDescendants adds the children of those of the processes that are alive, and
// theirs. The dead have none: their pid may be another process's by now, and pid 0
// would be the parent of all.
func withDescendants(ps []process) []process {
	in := map[int]bool{}
	for _, p := range ps {
		if p.alive() {
			in[p.pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, pid := range pids() {
			s, err := stat(pid)
			if err != nil || in[pid] || !in[s.parent] || s.dead {
				continue
			}
			in[pid], grown = true, true
			ps = append(ps, process{pid, s.start})
		}
	}
	return ps
}
