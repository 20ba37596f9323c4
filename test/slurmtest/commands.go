package slurmtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Command prepares a command as a user of the machine (root, alice, ...) with
// SLURM_CONF set and an environment that is otherwise the cluster's own. It runs in
// Home(user).
func (c *Cluster) Command(ctx context.Context, user string, argv ...string) (*exec.Cmd, error) {
	a, err := lookup(user)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = c.Home(user)
	cmd.Env = append(c.environ(), "HOME="+c.Home(user), "USER="+user, "LOGNAME="+user)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential()}
	cmd.WaitDelay = 2 * time.Second // what it started may keep its output open
	return cmd, nil
}

// Home is the folder a user works in; jobs that Submit sends write there.
func (c *Cluster) Home(user string) string {
	if user == "root" {
		return c.opts.Dir
	}
	return c.path("home", user)
}

// As runs a command as a user and returns what it printed. The error of a command
// that failed wraps *exec.ExitError and holds what it wrote to stderr.
func (c *Cluster) As(ctx context.Context, user string, argv ...string) (string, error) {
	return c.run(ctx, user, "", argv)
}

// Submit sends a batch script as a user and returns the id of the job. args are
// those of sbatch(1). A script without a first line for the shell gets one.
func (c *Cluster) Submit(ctx context.Context, user, script string, args ...string) (string, error) {
	if !strings.HasPrefix(script, "#!") {
		script = "#!/bin/bash\n" + script
	}
	out, err := c.run(ctx, user, script+"\n", append([]string{"sbatch", "--parsable"}, args...))
	return strings.TrimSpace(out), err
}

func (c *Cluster) run(ctx context.Context, user, stdin string, argv []string) (string, error) {
	cmd, err := c.Command(ctx, user, argv...)
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s as %s: %w: %s", strings.Join(argv, " "), user, err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// JobState returns the state of a job as squeue(1) has it: "RUNNING".
func (c *Cluster) JobState(ctx context.Context, id string) (string, error) {
	out, err := c.As(ctx, "root", "squeue", "-h", "-t", "all", "-j", id, "-o", "%T")
	return strings.TrimSpace(out), err
}

// WaitJob waits until a job is in one of the states.
func (c *Cluster) WaitJob(ctx context.Context, id string, states ...string) error {
	var last string
	err := c.Wait(ctx, "job "+id+" to be "+strings.Join(states, " or "), func() bool {
		state, err := c.JobState(ctx, id)
		last = state
		return err == nil && slices.Contains(states, state)
	})
	if err != nil {
		return fmt.Errorf("%w: it is %s", err, last)
	}
	return nil
}

func (c *Cluster) readLog(name string) (string, error) {
	raw, err := os.ReadFile(c.path("log", name))
	return string(raw), err
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
