package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrGone says that there is no such process, or none any more.
var ErrGone = errors.New("no such process")

func (h Host) readProcess(pid int, file string) (string, error) {
	text, err := h.read("proc/" + strconv.Itoa(pid) + "/" + file)
	if err != nil && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH)) {
		return "", fmt.Errorf("pid %d: %w", pid, ErrGone)
	}
	if err != nil {
		return "", fmt.Errorf("pid %d: %w", pid, err)
	}
	return text, nil
}

// ProcessName is the name that the kernel has for the process (at most 15 bytes).
func (h Host) ProcessName(pid int) (string, error) {
	text, err := h.readProcess(pid, "comm")
	return strings.TrimSuffix(text, "\n"), err
}

// Running reports that the process which had the pid at a moment still runs.
// A process that started later only has the same number.
func (h Host) Running(pid int, at time.Time) bool {
	stat, err := h.readProcess(pid, "stat")
	if err != nil {
		return !errors.Is(err, ErrGone)
	}
	started, ok := startTicks(stat)
	booted, err := h.Booted()
	if !ok || err != nil {
		return true // not known to be another one
	}
	const ticks = 100 // a second, on every Linux: USER_HZ
	start := booted.Add(time.Duration(started) * (time.Second / ticks))
	return start.Before(at.Add(time.Second)) // the two clocks differ a little
}

// startTicks finds field 22 of /proc/PID/stat. The second field is the name in
// brackets, which may hold anything.
func startTicks(stat string) (int64, bool) {
	_, after, ok := cutLast(stat, ")")
	fields := strings.Fields(after)
	if !ok || len(fields) < 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(fields[19], 10, 64)
	return n, err == nil && n >= 0 && n < 1<<50
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// user names who runs the process, from the local password file only: a name service
// that hangs would hold the agent up.
func (h Host) user(pid int) string {
	info, err := os.Stat(h.path("proc/" + strconv.Itoa(pid)))
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return h.UserName(st.Uid)
}

// UserName is the name of a user, or "uid N" where the local password file has none.
func (h Host) UserName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	text, _ := h.read("etc/passwd") // unreadable: nobody has a name
	for line := range strings.Lines(text) {
		if f := strings.SplitN(line, ":", 4); len(f) == 4 && f[2] == number {
			return f[0]
		}
	}
	return "uid " + number
}

// pids lists the processes.
func (h Host) pids() ([]int, error) {
	dir, err := os.Open(h.path("proc"))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// FindProcess returns the pid of a process by its name; 0 when there is none. The
// kernel keeps 15 bytes of a name.
func (h Host) FindProcess(name string) (int, error) {
	pids, err := h.pids()
	if err != nil {
		return 0, err
	}
	name = name[:min(len(name), 15)]
	for _, pid := range pids {
		if got, err := h.ProcessName(pid); err == nil && got == name {
			return pid, nil
		}
	}
	return 0, nil
}
