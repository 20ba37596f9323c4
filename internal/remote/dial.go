package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// maxJumps ends a chain of jump hosts that leads to itself.
const maxJumps = 8

// dial makes one connection, with the configuration, the keys and the address read
// anew: what was mended since the last try counts.
func (c *Conn) dial(ctx context.Context) (*ssh.Client, target, error) {
	t, err := c.host.resolve()
	if err != nil {
		return nil, t, err
	}
	keys, err := newHostKeys(t)
	if err != nil {
		return nil, t, err
	}
	raw, err := c.transport(ctx, t)
	if err != nil {
		return nil, t, err
	}
	client, err := c.handshake(ctx, raw, t, keys)
	if err != nil {
		raw.Close()
		return nil, t, fmt.Errorf("%s: %w", c.host.Alias, err)
	}
	return client, t, nil
}

// transport opens the byte stream: straight, or through the last jump host.
func (c *Conn) transport(ctx context.Context, t target) (net.Conn, error) {
	if len(t.jumps) > 0 {
		return c.jump(ctx, t)
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	raw, err := c.pool.opts.Dial(ctx, "tcp", t.addr())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s: %w", c.host.Alias, ErrUnreachable, whyNoDial(t, err), err)
	}
	return raw, nil
}

// jump opens the byte stream through the last jump host. Connecting to that one has
// its own clock, for it may wait for a person's answer.
func (c *Conn) jump(ctx context.Context, t target) (net.Conn, error) {
	if err := checkJumps(t); err != nil {
		return nil, err
	}
	via := c.pool.Conn(c.host.through(t.jumps))
	if err := via.Connect(ctx); err != nil {
		return nil, fmt.Errorf("%s: jump host %w", c.host.Alias, err)
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	raw, err := via.DialTCP(ctx, t.addr())
	if err != nil {
		return nil, fmt.Errorf("%s: jump host %w", c.host.Alias, err)
	}
	return raw, nil
}

// checkJumps follows the chain of jump hosts to its end. One that leads to itself
// has none, and connecting along it would wait for itself.
func checkJumps(t target) error {
	alias := t.from.Alias
	for range maxJumps {
		if len(t.jumps) == 0 {
			return nil
		}
		var err error
		if t, err = t.from.through(t.jumps).resolve(); err != nil {
			return fmt.Errorf("%s: jump host %w", alias, err)
		}
	}
	return fmt.Errorf("%s: %w: more than %d jump hosts: ProxyJump leads back to itself", alias, ErrConfig, maxJumps)
}

// through is the last jump host of a chain, itself reached through those before it.
func (h Host) through(jumps []hop) Host {
	last := jumps[len(jumps)-1]
	h.Alias, h.User, h.Port = last.host, last.user, last.port
	before := make([]string, len(jumps)-1)
	for i, j := range jumps[:len(jumps)-1] {
		before[i] = j.String()
	}
	h.jump = strings.Join(before, ",")
	return h
}

// String is the hop as ProxyJump takes it.
func (h hop) String() string {
	s := h.host
	if strings.Contains(s, ":") {
		s = "[" + s + "]"
	}
	if h.user != "" {
		s = h.user + "@" + s
	}
	if h.port != 0 {
		s = fmt.Sprintf("%s:%d", s, h.port)
	}
	return s
}

// whyNoDial says in plain words why there is no connection and what to look at.
func whyNoDial(t target, err error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("the name %s does not resolve here", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("%s refuses connections: does sshd listen on that port?", t.addr())
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("no route to %s: is the VPN up?", t.addr())
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer from %s within %s: is the host up, does a firewall drop it?", t.addr(), t.timeout)
	}
	return "no connection to " + t.addr()
}

// handshake greets, checks the host's key and authenticates. It takes no longer
// than ConnectTimeout, not counting the time in which a person answers questions.
func (c *Conn) handshake(ctx context.Context, raw net.Conn, t target, keys *hostKeys) (*ssh.Client, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var late atomic.Bool
	timer := time.AfterFunc(t.timeout, func() { late.Store(true); cancel() })
	defer timer.Stop()
	stop := context.AfterFunc(ctx, func() { raw.Close() }) // not every stream knows deadlines
	defer stop()

	ring := openKeyring(ctx, t)
	defer ring.close()
	cfg := &ssh.ClientConfig{
		User:              t.user,
		Auth:              authMethods(ctx, t, ring, c.patient(timer, t.timeout)),
		HostKeyCallback:   keys.callback,
		HostKeyAlgorithms: keys.algorithms(),
		ClientVersion:     "SSH-2.0-gpuctl",
	}
	conn, chans, reqs, err := ssh.NewClientConn(raw, t.addr(), cfg)
	if err != nil {
		if late.Load() {
			err = fmt.Errorf("%w: %s did not finish the SSH handshake within %s", ErrUnreachable, t.addr(), t.timeout)
		}
		return nil, whyNoHandshake(ctx, t, keys, ring, err)
	}
	if !stop() { // the stream was closed under our feet just now
		conn.Close()
		return nil, fmt.Errorf("%w: %s: %w", ErrUnreachable, t.addr(), ctx.Err())
	}
	return ssh.NewClient(conn, chans, reqs), nil
}

// patient stops the handshake's clock while a person answers.
func (c *Conn) patient(timer *time.Timer, timeout time.Duration) Prompt {
	prompt := c.pool.opts.Prompt
	if prompt == nil {
		return nil
	}
	return func(ctx context.Context, ch Challenge) ([]string, error) {
		timer.Stop()
		defer timer.Reset(timeout)
		return prompt(ctx, ch)
	}
}

func whyNoHandshake(ctx context.Context, t target, keys *hostKeys, ring *keyring, err error) error {
	var cut net.Error
	var algorithms *ssh.AlgorithmNegotiationError
	switch {
	case keys.refused != nil:
		return keys.refused
	case errors.Is(err, ErrUnreachable):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ErrClosed, ctx.Err())
	case errors.As(err, &algorithms):
		return fmt.Errorf("%w: %s speaks no algorithm that is still held safe: %w", ErrUnreachable, t.addr(), err)
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.As(err, &cut):
		return fmt.Errorf("%w: %s closed the connection during the handshake: is sshd overloaded (MaxStartups), or are we blocked there? (%w)", ErrUnreachable, t.addr(), err)
	case keys.accepted:
		return authError(t, ring, err)
	}
	return fmt.Errorf("%w: %s does not speak SSH as it should: %w", ErrUnreachable, t.addr(), err)
}
