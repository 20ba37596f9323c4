package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Process is a command that runs, with its streams.
type Process struct {
	// Stdin and Stdout are set by Start. Stdout must be read to its end, or the
	// command blocks.
	Stdin  io.WriteCloser
	Stdout io.Reader

	conn   *Conn
	name   string
	ctx    context.Context
	cancel context.CancelFunc
	errs   *capture
	done   chan struct{}
	err    error // of the session; set before done is closed
	cut    error // of ctx when the session ended
}

// Start starts a command whose streams the caller works on: gpuctl agent --stdio.
// It is killed when ctx ends or Close is called.
func (c *Conn) Start(ctx context.Context, argv []string) (*Process, error) {
	var stdin io.WriteCloser
	var stdout io.Reader
	errs := &capture{max: stderrKept}
	p, err := c.start(ctx, argv, func(s *ssh.Session) (err error) {
		s.Stderr = errs
		if stdin, err = s.StdinPipe(); err != nil {
			return err
		}
		stdout, err = s.StdoutPipe()
		return err
	})
	if err != nil {
		return nil, err
	}
	p.Stdin, p.Stdout, p.errs = stdin, stdout, errs
	return p, nil
}

// Wait waits for the end and returns the exit status.
func (p *Process) Wait() (int, error) {
	select {
	case <-p.done:
	case <-p.ctx.Done():
		select {
		case <-p.done: // both: what the command said counts
		default:
			return 0, p.conn.tooLate(p.ctx, p.name)
		}
	}
	var exit *ssh.ExitError
	var missing *ssh.ExitMissingError
	switch {
	case p.err == nil:
		return 0, nil
	case errors.As(p.err, &exit) && exit.Signal() != "":
		return 128 + signalNumber(exit.Signal()), nil
	case errors.As(p.err, &exit):
		return exit.ExitStatus(), nil
	case p.cut != nil:
		return 0, p.conn.tooLate(p.ctx, p.name)
	case errors.As(p.err, &missing):
		return 0, fmt.Errorf("%s: %w: the connection broke while %s ran; whether it had its effect is not known", p.conn.host.Alias, ErrUnreachable, p.name)
	}
	return 0, fmt.Errorf("%s: %s: %w: %w", p.conn.host.Alias, p.name, ErrUnreachable, p.err)
}

// Stderr is the beginning of what the command wrote to standard error. It is
// complete once Wait has returned without an error.
func (p *Process) Stderr() []byte {
	select {
	case <-p.done:
		return p.errs.buf.Bytes()
	default:
		return nil
	}
}

// Close kills the command and does not wait for its end.
func (p *Process) Close() error {
	p.cancel()
	return nil
}

// signalNumber is the number of a signal by its SSH name, 0 for a rare one.
func signalNumber(name string) int {
	return map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "ABRT": 6, "FPE": 8, "KILL": 9, "USR1": 10, "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15}[name]
}

// start opens a session, sets its streams up and starts the command. Only as long
// as nothing was sent, a dead connection is replaced and the command started there.
func (c *Conn) start(ctx context.Context, argv []string, setup func(*ssh.Session) error) (*Process, error) {
	line, err := Quote(argv)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.host.Alias, err)
	}
	name := commandName(argv)
	for try := 0; ; try++ {
		l, err := c.connect(ctx)
		if err != nil {
			return nil, err
		}
		s, err := c.session(ctx, l)
		switch {
		case err == nil:
			return c.exec(ctx, l, s, name, line, setup)
		case ctx.Err() != nil:
			return nil, c.tooLate(ctx, name)
		case l.dead() && try == 0:
			continue
		}
		return nil, fmt.Errorf("%s: %w: open a session for %s: %w", c.host.Alias, ErrUnreachable, name, err)
	}
}

// commandName is what people call the command: without env(1) and what it sets.
func commandName(argv []string) string {
	if argv[0] != "env" {
		return argv[0]
	}
	for i := 1; i < len(argv); i++ {
		switch {
		case argv[i] == "-u":
			i++
		case !strings.Contains(argv[i], "="):
			return argv[i]
		}
	}
	return argv[0]
}

// session waits for a free slot and opens a session. A server that allows fewer
// sessions than we thought is believed, and the slot is not used again.
func (c *Conn) session(ctx context.Context, l *link) (*ssh.Session, error) {
	for alone := 0; ; {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.done:
			return nil, l.reason()
		}
		s, err := await(ctx, c, l.client.NewSession, func(s *ssh.Session, err error) {
			if err == nil {
				s.Close()
			}
			<-l.slots
		})
		var refused *ssh.OpenChannelError
		switch {
		case err == nil:
			return s, nil
		case errors.Is(err, errLeft):
			return nil, ctx.Err()
		case errors.As(err, &refused) && l.shrink():
			continue
		}
		<-l.slots
		switch {
		case refused == nil:
			return nil, l.reason()
		case alone == 5:
			return nil, err
		}
		alone++ // the server may not have noticed yet that the last session ended
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// exec sends the command on an open session and hands the session, its slot and
// its end to a Process.
func (c *Conn) exec(ctx context.Context, l *link, s *ssh.Session, name, line string, setup func(*ssh.Session) error) (*Process, error) {
	p := &Process{conn: c, name: name, done: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(ctx)
	started := make(chan error, 1)
	ok := c.spawn(func() {
		defer p.cancel()
		defer close(p.done)
		defer func() { s.Close(); <-l.slots }()
		stop := context.AfterFunc(p.ctx, func() { c.spawn(func() { kill(s) }) })
		defer stop()
		err := setup(s)
		if err == nil {
			err = s.Start(line)
		}
		started <- err
		if p.err = err; err == nil {
			p.err = s.Wait()
		}
		p.cut = p.ctx.Err()
	})
	if !ok {
		p.cancel()
		return nil, fmt.Errorf("%s: %w", c.host.Alias, ErrClosed)
	}
	select {
	case err := <-started:
		if err == nil {
			return p, nil
		}
		p.cancel()
		if ctx.Err() != nil {
			return nil, c.tooLate(ctx, name)
		}
		return nil, fmt.Errorf("%s: %w: start %s: %w", c.host.Alias, ErrUnreachable, name, err)
	case <-ctx.Done():
		p.cancel()
		return nil, c.tooLate(ctx, name)
	}
}

// kill ends the command before the channel: sshd leaves one running whose channel
// is merely closed, until it writes. (For root, sshd passes no signals on.)
func kill(s *ssh.Session) {
	_ = s.Signal(ssh.SIGKILL)
	s.Close()
}
