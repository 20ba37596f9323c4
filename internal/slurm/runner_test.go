package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/remote"
)

// script puts a command of that name first in PATH.
func script(t *testing.T, name, body string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestC17_C24_EnvironmentIsPinned(t *testing.T) {
	script(t, "squeue", "env\n")
	for name, value := range map[string]string{
		"SQUEUE_FORMAT": "%i", "SQUEUE_SORT": "-p", "SINFO_FORMAT": "%n", "SACCT_FORMAT": "jobid",
		"SLURM_TIME_FORMAT": "relative", "SCANCEL_STATE": "PENDING", "SLURM_CLUSTERS": "other",
		"SLURM_CONF": "/etc/slurm/a.conf", "SLURM_JWT": "token", "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo",
	} {
		t.Setenv(name, value)
	}
	for _, conf := range []string{"", "/etc/slurm/b.conf"} {
		out, err := NewExecRunner(ExecOptions{Conf: conf}).Run(t.Context(), []string{"squeue"})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(string(out.Stdout), "\n")
		want := []string{"LC_ALL=C", "TZ=UTC0", "SLURM_TIME_FORMAT=standard", "SLURM_JWT=token", "SLURM_CONF=/etc/slurm/a.conf", "SLURM_BITSTR_LEN=0"}
		if conf != "" {
			want[4] = "SLURM_CONF=" + conf
		}
		for _, w := range want {
			if n := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != w })); n != 1 {
				t.Errorf("%s is there %d times, want once, in\n%s", w, n, out.Stdout)
			}
		}
		for _, line := range got {
			if hasAnyPrefix(line, []string{"SQUEUE_", "SINFO_", "SACCT_", "SCANCEL_", "SLURM_CLUSTERS"}) {
				t.Errorf("%s reached the command", line)
			}
			if strings.HasPrefix(line, "PATH=") && !strings.Contains(line, ":/usr/sbin") {
				t.Errorf("%s lacks /usr/sbin", line)
			}
		}
	}
}

// The list for env(1) and the prefixes for here must not drift apart.
func TestDroppedNamesHaveADroppedPrefix(t *testing.T) {
	for _, name := range droppedNames() {
		if !hasAnyPrefix(name, dropped()) || slices.Contains(kept(), name) {
			t.Errorf("%s is dropped over SSH but not here", name)
		}
	}
}

func TestExecResult(t *testing.T) {
	script(t, "scontrol", `echo out "$@"; echo err >&2; exit 3`)
	out, err := NewExecRunner(ExecOptions{}).Run(t.Context(), []string{"scontrol", "a b", "$(id)", ""})
	if err != nil {
		t.Fatal(err)
	}
	if string(out.Stdout) != "out a b $(id) \n" || string(out.Stderr) != "err\n" || out.Exit != 3 {
		t.Errorf("got %q %q %d", out.Stdout, out.Stderr, out.Exit)
	}
}

func TestExecMissingCommand(t *testing.T) {
	_, err := NewExecRunner(ExecOptions{}).Run(t.Context(), []string{"no-such-slurm-command"})
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "no-such-slurm-command") {
		t.Errorf("got %v", err)
	}
	if _, err := FindCommand("no-such-slurm-command"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("FindCommand: %v", err)
	}
}

func limited(limit int) Runner {
	r := NewExecRunner(ExecOptions{}).(*execRunner)
	r.max = limit
	return r
}

func TestExecOutputLimit(t *testing.T) {
	script(t, "squeue", "while :; do echo 0123456789; done")
	_, err := limited(1000).Run(t.Context(), []string{"squeue"})
	if !errors.Is(err, ErrDecode) {
		t.Errorf("got %v", err)
	}
}

func TestExecOutputAtTheLimitIsKept(t *testing.T) {
	script(t, "squeue", "printf 0123456789")
	out, err := limited(10).Run(t.Context(), []string{"squeue"})
	if err != nil || string(out.Stdout) != "0123456789" {
		t.Errorf("got %q, %v", out.Stdout, err)
	}
}

// A command that hangs is killed with its children.
func TestExecCancelKillsTheGroup(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	script(t, "scontrol", "sleep 600 & echo $! >"+pidFile+".new; mv "+pidFile+".new "+pidFile+"; wait")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := NewExecRunner(ExecOptions{}).Run(ctx, []string{"scontrol"})
		done <- err
	}()
	child := 0
	for child == 0 {
		if text, err := os.ReadFile(pidFile); err == nil {
			child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	for running(child) {
		time.Sleep(time.Millisecond)
	}
}

// running is false for a process that is gone or only waits to be reaped.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestExecDeadlineMeansBusy(t *testing.T) {
	script(t, "squeue", "sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := NewExecRunner(ExecOptions{}).Run(ctx, []string{"squeue"})
	if !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestRemoteErrorsGetAClass(t *testing.T) {
	for _, c := range []struct{ in, want error }{
		{remote.ErrUnreachable, ErrUnreachable},
		{fmt.Errorf("x: %w: %w", remote.ErrUnreachable, context.DeadlineExceeded), ErrUnreachable},
		{remote.ErrUnknownHost, ErrUnreachable},
		{remote.ErrHostKeyChanged, ErrUnreachable},
		{remote.ErrAuth, ErrAuth},
		{remote.ErrTooLarge, ErrDecode},
		{context.DeadlineExceeded, ErrBusy},
		{context.Canceled, context.Canceled},
	} {
		err := fromRemote(fmt.Errorf("login1: %w: words", c.in))
		if !errors.Is(err, c.want) || !errors.Is(err, c.in) {
			t.Errorf("%v became %v", c.in, err)
		}
		if !strings.HasPrefix(err.Error(), "login1: ") {
			t.Errorf("the words changed: %v", err)
		}
	}
}

func TestEnvCommandKeepsTheWords(t *testing.T) {
	got := envCommand("/etc/slurm/slurm.conf", []string{"squeue", "-o", "a b"})
	if got[0] != "env" || !slices.Equal(got[len(got)-3:], []string{"squeue", "-o", "a b"}) {
		t.Errorf("got %q", got)
	}
	if i := slices.Index(got, "SQUEUE_FORMAT"); i < 1 || got[i-1] != "-u" {
		t.Errorf("SQUEUE_FORMAT is not unset: %q", got)
	}
	if !slices.Contains(got, "SLURM_CONF=/etc/slurm/slurm.conf") {
		t.Errorf("SLURM_CONF is not set: %q", got)
	}
	if line, err := remote.Quote(got); err != nil || strings.ContainsAny(line, "\"$`\\!") {
		t.Errorf("needs more than single quotes: %s, %v", line, err)
	}
}
