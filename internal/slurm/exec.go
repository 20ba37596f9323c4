package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// maxAnswer limits what is read of one command's output.
const maxAnswer = 64 << 20

// ExecOptions say how commands run on this machine.
type ExecOptions struct {
	Conf string // SLURM_CONF; empty leaves the environment's
}

// execRunner runs Slurm's commands on this machine.
type execRunner struct {
	env []string
	max int
}

// NewExecRunner returns a Runner of the commands on this machine. Each runs in its
// own process group, which is killed as a whole when its context ends.
func NewExecRunner(o ExecOptions) Runner {
	return &execRunner{env: cleanEnv(os.Environ(), o.Conf), max: maxAnswer}
}

// FindCommand returns the path of a Slurm command on this machine, looked for where
// NewExecRunner looks. The error wraps ErrUnreachable.
func FindCommand(name string) (string, error) {
	return findIn(cleanEnv(os.Environ(), ""), name)
}

// Via implements Runner.
func (r *execRunner) Via() string { return "local" }

// Run implements Runner.
func (r *execRunner) Run(ctx context.Context, argv []string) (Output, error) {
	if len(argv) == 0 {
		return Output{}, fmt.Errorf("%w: no command", ErrInput)
	}
	path, err := findIn(r.env, argv[0])
	if err != nil {
		return Output{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &head{max: r.max, full: func() { cancel(errTooLarge) }}
	errs := &head{max: 64 << 10}
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Env, cmd.Stdout, cmd.Stderr = r.env, out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a child of the command may hold its output open
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case context.Cause(ctx) != nil:
		return Output{}, endedEarly(ctx, argv[0], r.max)
	case err != nil && !errors.As(err, &exit):
		return Output{}, fmt.Errorf("run %s: %w", argv[0], err)
	}
	return Output{Stdout: out.buf.Bytes(), Stderr: errs.buf.Bytes(), Exit: processExit(cmd.ProcessState)}, nil
}

// errTooLarge is the cause with which an answer that is too large ends a command.
var errTooLarge = errors.New("answer too large")

// endedEarly says why a command was ended before its end. A passed deadline means
// that slurmctld answers slowly, for that is what the commands wait for.
func endedEarly(ctx context.Context, name string, limit int) error {
	switch {
	case errors.Is(context.Cause(ctx), errTooLarge):
		return fmt.Errorf("%s: %w: more than %d bytes", name, ErrDecode, limit)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s: %w: no answer in time: %w", name, ErrBusy, ctx.Err())
	}
	return fmt.Errorf("%s: %w", name, ctx.Err())
}

// processExit is the exit status as a shell tells it.
func processExit(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

func findIn(env []string, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var path string
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = p
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(dir) {
			return p, nil
		}
	}
	return "", fmt.Errorf("%w: there is no command %s on this machine (in %s): run gpuctl where Slurm's commands are, or give the cluster ssh or rest", ErrUnreachable, name, path)
}

// head keeps the first max bytes and tells when there are more. It is written to by
// one goroutine, and read once that has ended.
type head struct {
	buf  bytes.Buffer
	max  int
	full func()
}

// Write never fails: the command shall not die of a closed pipe by accident.
func (h *head) Write(p []byte) (int, error) {
	room := h.max - h.buf.Len()
	if len(p) <= room {
		return h.buf.Write(p)
	}
	h.buf.Write(p[:room])
	if h.full != nil {
		h.full()
	}
	return len(p), nil
}
