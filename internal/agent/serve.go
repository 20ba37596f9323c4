package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	// maxClients bounds the connections of one listener.
	maxClients = 64
	// writeLimit is how long a client may leave a frame unread.
	writeLimit = 30 * time.Second
)

// conn is a connection whose writes do not wait for ever.
type conn struct{ net.Conn }

func (c conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// ListenSocket makes a unix socket that only its owner may open. One that nobody
// listens on any more is replaced.
func ListenSocket(ctx context.Context, path string) (*net.UnixListener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if c, err := new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
		c.Close()
		return nil, fmt.Errorf("socket %s: another agent listens there", path)
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		os.Remove(path)
	}
	// The file must never be open to others, not even for a moment.
	old := syscall.Umask(0o177)
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	return l.(*net.UnixListener), nil //nolint:forcetypeassert // what Listen makes of "unix"
}

// ServeSocket talks to whoever opens the socket and is root or the user that the agent
// runs as; the kernel says who it is. It returns when ctx has ended and every client is
// gone.
func (v *Server) ServeSocket(ctx context.Context, l *net.UnixListener) error {
	return v.accept(ctx, l, func(c net.Conn) (Peer, error) {
		uid, err := peerUID(c)
		if err != nil {
			return Peer{}, err
		}
		return socketPeer(uid, os.Geteuid())
	})
}

// socketPeer decides about a user at the socket.
func socketPeer(uid, owner int) (Peer, error) {
	if uid != 0 && uid != owner {
		return Peer{}, fmt.Errorf("uid %d is neither root nor the owner of the agent", uid)
	}
	return Peer{Name: fmt.Sprintf("uid %d", uid), Write: true}, nil
}

// accept starts a session for each connection that admit lets in; others are closed
// without a word.
func (v *Server) accept(ctx context.Context, l net.Listener, admit func(net.Conn) (Peer, error)) error {
	var work sync.WaitGroup
	defer work.Wait()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	slots := make(chan struct{}, maxClients)
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		peer, err := admit(c)
		if err == nil && !take(slots) {
			err = errors.New("too many clients")
		}
		if err != nil {
			v.sampler.opts.Log.Warn("client refused", "from", c.RemoteAddr().String(), "why", err)
			c.Close()
			continue
		}
		work.Go(func() {
			defer func() { <-slots }()
			v.session(ctx, peer, c)
		})
	}
}

// take takes a place; false: there is none.
func take(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (v *Server) session(ctx context.Context, peer Peer, c net.Conn) {
	if err := v.Session(ctx, peer, conn{c}); err != nil && ctx.Err() == nil {
		v.sampler.opts.Log.Warn("client cut off", "peer", peer.Name, "why", err)
	}
}
