package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// Result is what a command left.
type Result struct {
	Stdout, Stderr []byte
	// Exit is the exit status; 128 plus its number for one ended by a signal.
	Exit int
}

// stderrKept is how much of standard error is kept; the rest is dropped.
const stderrKept = 64 << 10

// Run runs one command to its end. argv reaches it word by word, whatever the words
// hold. A command that ran and failed is no error: see Result.Exit.
//
// When ctx ends the command is killed, as far as the server lets us, and the
// connection stays. When the connection breaks the error wraps ErrUnreachable, and
// whether the command had its effect is not known.
func (c *Conn) Run(ctx context.Context, argv []string) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &capture{max: c.most, full: func() { cancel(ErrTooLarge) }}
	errs := &capture{max: stderrKept}
	p, err := c.start(ctx, argv, func(s *ssh.Session) error {
		s.Stdout, s.Stderr = out, errs
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	exit, err := p.Wait()
	switch {
	case errors.Is(context.Cause(ctx), ErrTooLarge):
		return Result{}, fmt.Errorf("%s: %s: %w: more than %d bytes", c.host.Alias, commandName(argv), ErrTooLarge, out.max)
	case err != nil:
		return Result{}, err
	}
	return Result{Stdout: out.buf.Bytes(), Stderr: errs.buf.Bytes(), Exit: exit}, nil
}

// capture keeps the first max bytes and tells once when there are more.
type capture struct {
	buf  bytes.Buffer
	max  int64
	full func()
}

// Write never fails: the command shall not die of a closed pipe by accident.
func (c *capture) Write(p []byte) (int, error) {
	room := c.max - int64(c.buf.Len())
	if int64(len(p)) <= room {
		return c.buf.Write(p)
	}
	c.buf.Write(p[:room])
	if c.full != nil {
		c.full()
	}
	return len(p), nil
}
