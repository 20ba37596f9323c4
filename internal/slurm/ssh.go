package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/gpuctl/gpuctl/internal/remote"
)

// SSHOptions say how commands run on another host.
type SSHOptions struct {
	Conf string // SLURM_CONF there; empty leaves it to the host
}

// sshRunner runs Slurm's commands on another host.
type sshRunner struct {
	conn *remote.Conn
	conf string
}

// NewSSHRunner returns a Runner of the commands on the host of conn. They get the
// same environment as here, by env(1), so that the shell there need not be a POSIX
// one: single quotes are the only syntax used.
func NewSSHRunner(conn *remote.Conn, o SSHOptions) Runner {
	return &sshRunner{conn: conn, conf: o.Conf}
}

// Via implements Runner.
func (r *sshRunner) Via() string { return r.conn.Via() }

// Run implements Runner.
func (r *sshRunner) Run(ctx context.Context, argv []string) (Output, error) {
	if len(argv) == 0 {
		return Output{}, fmt.Errorf("%w: no command", ErrInput)
	}
	res, err := r.conn.Run(ctx, envCommand(r.conf, argv))
	switch {
	case err != nil:
		return Output{}, fromRemote(err)
	case res.Exit == 127: // env(1) and the shells say so when there is no such command
		return Output{}, fmt.Errorf("%s: %w: there is no command %s in the PATH that a command over SSH gets there: %s",
			r.conn.Host().Alias, ErrUnreachable, argv[0], bytes.TrimSpace(res.Stderr))
	}
	return Output{Stdout: res.Stdout, Stderr: res.Stderr, Exit: res.Exit}, nil
}

// fromRemote puts an error of remote into this package's classes; its words stay.
// The host's own class comes before the deadline that it may wrap.
func fromRemote(err error) error {
	for _, c := range []struct{ is, class error }{
		{remote.ErrUnreachable, ErrUnreachable},
		{remote.ErrAuth, ErrAuth},
		{remote.ErrUnknownHost, ErrUnreachable},
		{remote.ErrHostKeyChanged, ErrUnreachable},
		{remote.ErrConfig, ErrUnreachable},
		{remote.ErrClosed, ErrUnreachable},
		{remote.ErrInput, ErrInput},
		{remote.ErrTooLarge, ErrDecode},
		{context.DeadlineExceeded, ErrBusy},
	} {
		if errors.Is(err, c.is) {
			return &remoteError{class: c.class, err: err}
		}
	}
	return err
}

// remoteError is an error with a class that its words do not repeat.
type remoteError struct{ class, err error }

func (e *remoteError) Error() string   { return e.err.Error() }
func (e *remoteError) Unwrap() []error { return []error{e.class, e.err} }
