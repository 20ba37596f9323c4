package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// helloPatience is how long an agent may take from its start to its first full sample.
const helloPatience = 20 * time.Second

// The bounds of what an agent may say of its interval. All agents may share one
// connection, which a moment without network must not take from all of them: an agent is
// not held silent before twice the least has passed.
const (
	minInterval = 5 * time.Second
	maxInterval = 5 * time.Minute
)

// State is everything that an agent has said so far, as of its last sample. It is
// immutable.
type State struct {
	Hello wire.Hello
	Node  fleet.AgentInfo
	GPUs  []fleet.GPU
	Seq   uint64
	Heard time.Time // our clock
}

// Client is one node's agent. It is connected while Run runs.
type Client struct {
	host    string
	changed func()

	mu    sync.Mutex // guards the rest
	state *State
	link  *link // nil while not connected
}

// New returns the client of the agent on host. changed is called after each change of
// State, from Run's goroutine; it must not block. It may be nil.
func New(host string, changed func()) *Client {
	if changed == nil {
		changed = func() {}
	}
	return &Client{host: host, changed: changed}
}

// Host is the node's name in the fleet.
func (c *Client) Host() string { return c.host }

// State is what the agent said last; nil before its first full sample. It stays after
// the connection ended.
func (c *Client) State() *State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Run listens to the agent at the other end of stream until ctx ends or the connection
// does, and returns why. It closes the stream, whose Close must end pending reads and
// writes at once. Run is called again, with a new stream, to connect again.
func (c *Client) Run(ctx context.Context, stream io.ReadWriteCloser) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := newLink(c, stream, cancel)
	var work sync.WaitGroup
	work.Go(func() {
		<-ctx.Done()
		stream.Close()
	})
	work.Go(func() { l.write(ctx) })
	c.connect(l)
	err := l.read()
	cancel(err)
	work.Wait()
	l.silence.Stop()
	c.connect(nil)
	l.end()
	return fmt.Errorf("%s: %w", c.host, l.why(ctx, err))
}

// why is the reason of an end: the first to be known, for the others follow from it.
func (l *link) why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the agent ended the connection")
	}
	return err
}

func (c *Client) connect(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = l
}

// publish makes s the state.
func (c *Client) publish(s *State) {
	c.mu.Lock()
	c.state = s
	c.mu.Unlock()
	c.changed()
}
