package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/client"
)

// The back-off of one node: doubled from the least to the most, with jitter.
const (
	minBackoff = 2 * time.Second
	maxBackoff = time.Minute
)

// dialLimit is how long it may take to get a stream to an agent.
const dialLimit = 30 * time.Second

// errSlow is why a dial was given up.
var errSlow = fmt.Errorf("no connection within %s", dialLimit)

// watch keeps one node connected.
type watch struct {
	source *Source
	host   string
	board  *board
	client *client.Client
	cancel context.CancelFunc
	done   chan struct{}
	// up is called with the first sample of a connection. It and answered belong to
	// the goroutine of attempt.
	up       func()
	answered bool
}

// watch starts to watch a node, until ctx ends or the watch is cancelled.
func (s *Source) watch(ctx context.Context, host string, b *board) *watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{source: s, host: host, board: b, cancel: cancel, done: make(chan struct{})}
	w.client = client.New(host, w.changed)
	s.mu.Lock()
	s.clients[host] = w.client
	s.mu.Unlock()
	b.add(host)
	go func() {
		defer close(w.done)
		w.run(ctx)
	}()
	return w
}

// changed passes the agent's word on.
func (w *watch) changed() {
	w.up()
	w.answered = true
	w.board.answered(w.source.report(w.client.State(), w.host))
}

// run connects again and again, each time later than the time before. An agent that
// does not live long does not start that anew.
func (w *watch) run(ctx context.Context) {
	for failures := 1; ctx.Err() == nil; failures++ {
		began := time.Now()
		err := w.attempt(ctx)
		if query, ok := w.source.opts.Way.(runner); ok && errors.Is(err, client.ErrNoAgent) {
			if err = w.poor(ctx, query, err); err == nil {
				failures = 0
				continue // it is time to look whether an agent is there now
			}
		}
		if ctx.Err() != nil {
			return
		}
		if w.answered && time.Since(began) > maxBackoff {
			failures = 1
		}
		w.board.failed(w.host, w.source.opts.Way.Via(w.host), err)
		w.wait(ctx, backoff(failures))
	}
}

// attempt connects one time and returns why the connection ended. Only so many nodes
// are connected to at the same time; a slot is free again with the first sample.
func (w *watch) attempt(ctx context.Context) (err error) {
	select {
	case w.source.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	w.answered = false
	w.up = sync.OnceFunc(func() { <-w.source.slots })
	defer func() { w.up() }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(dialLimit, func() { cancel(errSlow) })
	stream, err := w.source.opts.Way.Dial(ctx, w.host)
	limit.Stop()
	if err != nil {
		if errors.Is(context.Cause(ctx), errSlow) {
			return fmt.Errorf("%s: %w", w.host, errSlow)
		}
		return err
	}
	return w.client.Run(ctx, stream)
}

func backoff(failures int) time.Duration {
	d := maxBackoff
	if failures < 6 {
		d = minBackoff << (failures - 1)
	}
	return d - d/5 + rand.N(2*d/5)
}

// wait waits d, or less when somebody wishes it; never less than the least back-off.
func (w *watch) wait(ctx context.Context, d time.Duration) {
	least := min(d, minBackoff)
	wish := w.source.hurried() // before the least wait: a wish during it counts
	select {
	case <-ctx.Done():
		return
	case <-time.After(least):
	}
	select {
	case <-ctx.Done():
	case <-time.After(d - least):
	case <-wish:
	}
}
