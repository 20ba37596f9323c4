package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

const (
	// maxSessions is how many commands run at once: below the default of 10 in
	// sshd_config(5).
	maxSessions = 8
	// maxOutput is how many bytes of standard output Run takes.
	maxOutput = 64 << 20
)

// Conn is the connection to one host: made on first use, shared by everything that
// goes there, and made again after it was lost.
type Conn struct {
	pool *Pool
	host Host
	ctx  context.Context // ends with stop
	quit context.CancelFunc
	work sync.WaitGroup
	most int64 // bytes of standard output that Run takes

	mu   sync.Mutex
	live *link
	next *attempt // a connection in the making
	end  bool
}

// attempt is one try to connect, which all that need it wait for.
type attempt struct {
	done chan struct{}
	link *link
	err  error
}

func newConn(p *Pool, h Host) *Conn {
	c := &Conn{pool: p, host: h, most: maxOutput}
	c.ctx, c.quit = context.WithCancel(context.Background())
	return c
}

// Host is the host as it was asked for.
func (c *Conn) Host() Host { return c.host }

// Via names the connection for people: "ssh login1".
func (c *Conn) Via() string {
	if c.host.User != "" {
		return "ssh " + c.host.User + "@" + c.host.Alias
	}
	return "ssh " + c.host.Alias
}

// Connect connects if there is no live connection, to learn early what is wrong.
func (c *Conn) Connect(ctx context.Context) error {
	_, err := c.connect(ctx)
	return err
}

// Close ends the connection, everything that runs on it, whoever uses it, and all
// goroutines. It does not come back: the Pool makes a new Conn when asked.
func (c *Conn) Close() error {
	c.pool.forget(c)
	c.stop()
	c.work.Wait()
	return nil
}

func (c *Conn) stop() {
	c.mu.Lock()
	c.end = true
	live := c.live
	c.mu.Unlock()
	c.quit()
	if live != nil {
		live.end(ErrClosed)
	}
}

func (c *Conn) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

// spawn runs f as a goroutine that Close waits for. After Close it runs nothing.
func (c *Conn) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.end {
		c.work.Go(f)
	}
	return !c.end
}

// connect returns the live link, or waits for one to be made.
func (c *Conn) connect(ctx context.Context) (*link, error) {
	c.mu.Lock()
	if c.end {
		c.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", c.host.Alias, ErrClosed)
	}
	if c.live != nil && !c.live.dead() {
		defer c.mu.Unlock()
		return c.live, nil
	}
	if c.next == nil {
		c.next = &attempt{done: make(chan struct{})}
		a := c.next
		c.work.Go(func() { c.try(a) })
	}
	a := c.next
	c.mu.Unlock()
	select {
	case <-a.done:
		return a.link, a.err
	case <-ctx.Done():
		return nil, c.tooLate(ctx, "connect")
	}
}

// try connects on behalf of all that wait. It is bound to the life of c, not to
// the patience of the first to ask.
func (c *Conn) try(a *attempt) {
	client, t, err := c.dial(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(a.done)
	c.next = nil
	switch {
	case err != nil:
		a.err = err
	case c.end:
		client.Close()
		a.err = fmt.Errorf("%s: %w", c.host.Alias, ErrClosed)
	default:
		l := newLink(client)
		a.link, c.live = l, l
		c.work.Go(l.watch)
		c.work.Go(func() { l.keepAlive(t.alive, t.aliveMax, c.work.Go) })
	}
}

// tooLate is the error of something whose context ended. A passed deadline while
// connecting means that the host does not answer; a cancelled one means nothing.
func (c *Conn) tooLate(ctx context.Context, what string) error {
	if what == "connect" && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w: no connection in time: %w", c.host.Alias, ErrUnreachable, ctx.Err())
	}
	return fmt.Errorf("%s: %s: %w", c.host.Alias, what, ctx.Err())
}
