package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

// queued is how many requests may wait to be written.
const queued = 16

// syncID is the request that asks for a full sample after one was missed.
const syncID = "sync"

// link is one connection to an agent. Its reader owns hello, state and behind.
type link struct {
	c       *Client
	stream  io.ReadWriter
	cut     context.CancelCauseFunc
	silence *time.Timer
	out     chan wire.Frame
	done    chan struct{} // closed when the connection has ended

	hello  *wire.Hello
	state  *State
	behind bool // a sample was missed, and a full one asked for

	mu    sync.Mutex
	calls map[string]*call
}

func newLink(c *Client, stream io.ReadWriter, cut context.CancelCauseFunc) *link {
	l := &link{
		c: c, stream: stream, cut: cut, out: make(chan wire.Frame, queued), done: make(chan struct{}), calls: map[string]*call{},
	}
	l.patience(helloPatience)
	return l
}

// patience cuts the connection unless it is called again, or heard, within d.
func (l *link) patience(d time.Duration) {
	if l.silence != nil {
		l.silence.Stop()
	}
	l.silence = time.AfterFunc(d, func() { l.cut(fmt.Errorf("%w: nothing of use heard for %s", ErrSilent, d)) })
}

// end tells whoever waits for a reply that none will come.
func (l *link) end() { close(l.done) }

// write sends what is queued until ctx ends.
func (l *link) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-l.out:
			if err := wire.Write(l.stream, f); err != nil {
				l.cut(err)
				return
			}
		}
	}
}

// read takes frames until the stream ends or holds something wrong.
func (l *link) read() error {
	frames := wire.NewReader(l.stream, wire.MaxFrame)
	for {
		f, err := frames.Next()
		switch {
		case errors.Is(err, wire.ErrGarbage), errors.Is(err, wire.ErrTooLong):
			return fmt.Errorf("%w: %w", ErrGarbage, err)
		case err != nil:
			return err
		}
		if err := l.take(&f); err != nil {
			return err
		}
	}
}

// take works one frame off.
func (l *link) take(f *wire.Frame) error {
	if l.hello == nil {
		return l.greet(f.Hello)
	}
	switch {
	case f.Sample != nil:
		return l.sample(f.Sample)
	case f.Progress != nil:
		if call := l.call(f.Progress.ID); call != nil {
			call.tell(f.Progress.Text)
		}
	case f.Reply != nil:
		if call := l.call(f.Reply.ID); call != nil {
			call.finish(f.Reply)
		}
	default:
		return fmt.Errorf("%w: a second greeting, or a request", ErrGarbage)
	}
	l.heard()
	return nil
}

func (l *link) greet(h *wire.Hello) error {
	switch {
	case h == nil:
		return fmt.Errorf("%w: no greeting came first", ErrGarbage)
	case h.Version > wire.Version:
		return fmt.Errorf("%w: it speaks version %d of the protocol (gpuctl %q), we speak %d; update gpuctl here", ErrVersion, h.Version, h.Agent, wire.Version)
	case h.Version < 1:
		return fmt.Errorf("%w: version %d of the protocol", ErrGarbage, h.Version)
	}
	h.Interval = min(max(h.Interval, minInterval), maxInterval)
	l.hello = h
	return nil
}

// heard puts the moment off at which the agent counts as silent. Before the first full
// sample nothing does.
func (l *link) heard() {
	if l.state != nil {
		l.silence.Reset(2 * l.hello.Interval)
	}
}
