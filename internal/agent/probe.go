package agent

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// probe is one thing that the agent looks at, again and again. It runs on its own, so
// that one that hangs is named, and holds up nothing else.
type probe struct {
	name  string
	every time.Duration
	limit time.Duration // of one run; it is told by its context
	run   func(ctx context.Context) error

	mu      sync.Mutex
	started time.Time // of the run under way; zero: none
	last    time.Time // when the last run began
	err     error     // of the last run that ended
}

// start runs the probe unless it is under way or not due. The channel is closed when
// the run has ended; nil: there was none.
func (p *probe) start(ctx context.Context, work *sync.WaitGroup) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.started.IsZero() || !p.last.IsZero() && now.Sub(p.last) < p.every {
		return nil
	}
	p.started, p.last = now, now
	done := make(chan struct{})
	work.Go(func() {
		defer close(done)
		limited, cancel := context.WithTimeout(ctx, p.limit)
		defer cancel()
		err := p.run(limited)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.started, p.err = time.Time{}, err
	})
	return done
}

// problem says what is wrong with the probe; empty when nothing is. A run that is a
// little late is not worth a word.
func (p *probe) problem(now time.Time, patience time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.started.IsZero() && now.Sub(p.started) > patience:
		return fmt.Sprintf("%s has not returned since %s", p.name, p.started.UTC().Format(time.RFC3339))
	case p.err != nil:
		return fmt.Sprintf("%s: %v", p.name, p.err)
	}
	return ""
}

// await waits until all have ended or the time is up.
func await(ctx context.Context, limit time.Duration, runs []<-chan struct{}) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, done := range runs {
		select {
		case <-done:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
