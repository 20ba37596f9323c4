package remote

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
)

// Options are what all connections of a Pool share.
type Options struct {
	// Prompt answers questions of servers (one-time codes). Nil: they are not asked.
	Prompt Prompt
	// Dial opens TCP connections; net.Dialer unless set.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Pool holds one Conn a host.
type Pool struct {
	opts  Options
	mu    sync.Mutex
	conns map[string]*Conn
	ended bool
}

// NewPool returns an empty Pool.
func NewPool(o Options) *Pool {
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	return &Pool{opts: o, conns: map[string]*Conn{}}
}

// Conn returns the connection to h, the same one for the same h. It connects on
// first use.
func (p *Pool) Conn(h Host) *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := h.key()
	c := p.conns[key]
	if c == nil {
		c = newConn(p, h)
		p.conns[key] = c
		if p.ended {
			c.stop()
		}
	}
	return c
}

func (p *Pool) forget(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if key := c.host.key(); p.conns[key] == c {
		delete(p.conns, key)
	}
}

// key tells hosts apart.
func (h Host) key() string {
	return fmt.Sprintf("%q %q %d %q %q %q %q", h.Alias, h.User, h.Port, h.ConfigFile,
		strings.Join(h.IdentityFiles, "\x00"), strings.Join(h.KnownHosts, "\x00"), h.jump)
}

// Close ends every connection and waits for all goroutines.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.ended = true
	conns := make([]*Conn, 0, len(p.conns))
	for _, c := range p.conns {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	for _, c := range conns {
		c.stop()
	}
	for _, c := range conns {
		c.work.Wait()
	}
	return nil
}
