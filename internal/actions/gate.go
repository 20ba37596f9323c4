package actions

import (
	"context"
	"sync"
	"time"
)

const (
	// callsAtOnce bounds the calls in progress on one cluster.
	callsAtOnce = 4
	// callSpacing is the least time between the begins of two calls on a cluster:
	// a scheduler in trouble must not be finished off by its console.
	callSpacing = 100 * time.Millisecond
)

// gate is what every call on one cluster goes through. It is held around the call
// only, so that steps that wait for hours do not keep others out.
type gate struct {
	slots chan struct{}

	mu   sync.Mutex
	next time.Time
}

func newGate() *gate { return &gate{slots: make(chan struct{}, callsAtOnce)} }

// enter waits for a turn; an error means that ctx ended first.
func (g *gate) enter(ctx context.Context) error {
	if err := sleep(ctx, g.reserve()); err != nil {
		return err
	}
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) leave() { <-g.slots }

// reserve takes the next turn and returns how long it is until then.
func (g *gate) reserve() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	turn := g.next
	if turn.Before(now) {
		turn = now
	}
	g.next = turn.Add(callSpacing)
	return turn.Sub(now)
}

// sleep waits for d; an error means that ctx ended first.
func sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
