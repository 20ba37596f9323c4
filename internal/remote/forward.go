package remote

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/crypto/ssh"
)

// DialUnix connects to a Unix socket on the host. It has the shape that
// http.Transport wants. The connection knows no deadlines; ctx bounds the dialling.
func (c *Conn) DialUnix(ctx context.Context, path string) (net.Conn, error) {
	return c.forward(ctx, "unix", path)
}

// DialTCP connects to an address as the host sees it.
func (c *Conn) DialTCP(ctx context.Context, addr string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = parsePort(port)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: address %q: %w", c.host.Alias, ErrInput, addr, err)
	}
	return c.forward(ctx, "tcp", addr)
}

func (c *Conn) forward(ctx context.Context, network, addr string) (net.Conn, error) {
	for try := 0; ; try++ {
		l, err := c.connect(ctx)
		if err != nil {
			return nil, err
		}
		conn, err := await(ctx, c, func() (net.Conn, error) { return l.client.Dial(network, addr) },
			func(conn net.Conn, err error) {
				if err == nil {
					conn.Close()
				}
			})
		var refused *ssh.OpenChannelError
		switch {
		case err == nil:
			return conn, nil
		case errors.Is(err, errLeft):
			return nil, fmt.Errorf("%s: %w: %s does not answer through it: %w", c.host.Alias, ErrUnreachable, addr, ctx.Err())
		case errors.As(err, &refused):
			return nil, fmt.Errorf("%s: %w: %s", c.host.Alias, ErrUnreachable, whyNoForward(addr, refused))
		}
		if why := l.reason(); try > 0 || c.closed() {
			return nil, fmt.Errorf("%s: %w: forward %s: %w", c.host.Alias, ErrUnreachable, addr, why)
		}
	}
}

func whyNoForward(addr string, refused *ssh.OpenChannelError) string {
	if refused.Reason == ssh.Prohibited {
		return fmt.Sprintf("its sshd does not forward to %s: see AllowTcpForwarding, AllowStreamLocalForwarding and PermitOpen there (%s)", addr, refused.Message)
	}
	return fmt.Sprintf("it reaches it but not %s: %s", addr, refused.Message)
}
