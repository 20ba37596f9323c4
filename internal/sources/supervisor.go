package sources

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Store is where a Supervisor puts what it learns. Neither method blocks.
type Store interface {
	Sink
	Status(st fleet.SourceState)
}

// Options of a Supervisor. The zero value works.
type Options struct {
	Log *slog.Logger // nil: nothing is logged
}

// usualInterval is what a source is judged by that names none.
const usualInterval = 10 * time.Second

// The back-off between two connections: doubled from the least to the most, with
// jitter. Nobody's wish makes it shorter than the least.
const (
	minBackoff = 2 * time.Second
	maxBackoff = 30 * time.Second
)

// tick is how often ages are looked at.
const tick = time.Second

// Supervisor keeps sources running, each in its own goroutine with its own back-off,
// and tells the store how each of them stands.
type Supervisor struct {
	keepers []*keeper
}

// NewSupervisor returns a supervisor of the sources; Run starts them.
func NewSupervisor(store Store, opts Options, srcs ...Source) *Supervisor {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Supervisor{}
	for _, src := range srcs {
		s.keepers = append(s.keepers, newKeeper(src, store, opts))
	}
	return s
}

// States is how the sources stand now, in the order in which they were given.
func (s *Supervisor) States() []fleet.SourceState {
	out := make([]fleet.SourceState, len(s.keepers))
	for i, k := range s.keepers {
		k.mu.Lock()
		out[i] = k.state
		k.mu.Unlock()
	}
	return out
}

// Run runs all sources until ctx ends, and returns when all of them have.
func (s *Supervisor) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, k := range s.keepers {
		wg.Go(func() { k.run(ctx) })
		wg.Go(func() { k.watch(ctx) })
	}
	wg.Wait()
	return ctx.Err()
}

// Refresh asks the sources of that name or cluster for fresh data now; an empty name
// asks all. It does not wait. One that waits to connect again tries sooner.
func (s *Supervisor) Refresh(nameOrCluster string) {
	for _, k := range s.keepers {
		if nameOrCluster == "" || k.src.Name() == nameOrCluster || k.src.Info().Cluster == nameOrCluster {
			k.refresh()
		}
	}
}
