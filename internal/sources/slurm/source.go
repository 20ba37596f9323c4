// Package slurm is the source of one Slurm cluster: a poll of nodes and jobs, shared
// by everything that looks at the cluster, and now and then the slower facts
// (partitions, reservations, limits, the scheduler's statistics, finished jobs).
//
// It is gentle. Every ten seconds it asks for the nodes and for the jobs, and at
// most three times a minute slurmctld for anything else: 15 questions a minute. When
// slurmctld answers slowly it asks less often; when slurmctld says it is overloaded it
// waits. (Over the commands, scontrol and squeue each add a REQUEST_PARTITION_INFO of
// their own to a question, so that sdiag counts about 25.)
//
// It imports sources, fleet and internal/slurm.
package slurm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
	"github.com/gpuctl/gpuctl/internal/sources"
)

// Bounds of the poll.
const (
	// defaultInterval is the time between two polls of a quick slurmctld.
	defaultInterval = 10 * time.Second
	// MinInterval is the least time between two polls, whoever asks.
	MinInterval = 2 * time.Second
	maxInterval = 2 * time.Minute
	// pollTimeout is how long one poll may take.
	pollTimeout = 25 * time.Second
	// costShare: a poll may take this part of the interval.
	costShare = 10
)

// Options of a Source. Cluster and Client are needed.
type Options struct {
	Cluster string // as the config names it; the source's name too
	Client  *slurm.Client
	Log     *slog.Logger // nil: nothing is logged
	// Interval between polls; 0 is defaultInterval, and none is below MinInterval.
	Interval time.Duration
}

// Source polls one Slurm cluster.
type Source struct {
	opts Options
	wish chan struct{} // for a poll now

	// Of the goroutine of Run, kept from one connection to the next.
	interval  time.Duration // as stretched at present
	lastPoll  time.Time
	emptyRead bool // the last poll found no nodes
	history   history
	submits   map[string]int64 // by job id: the submit time of its key
	facts     fleet.Cluster
	slow      *slow
}

var (
	_ sources.Source    = (*Source)(nil)
	_ sources.Refresher = (*Source)(nil)
)

// New returns the source.
func New(opts Options) *Source {
	if opts.Interval <= 0 {
		opts.Interval = defaultInterval
	}
	opts.Interval = max(opts.Interval, MinInterval)
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Source{opts: opts, wish: make(chan struct{}, 1), interval: opts.Interval, slow: newSlow()}
}

// Name implements sources.Source.
func (s *Source) Name() string { return s.opts.Cluster }

// Info implements sources.Source.
func (s *Source) Info() sources.Info {
	return sources.Info{Kind: "slurm", Cluster: s.opts.Cluster, Via: strings.Join(s.opts.Client.Via(), ", "), Server: "slurmctld"}
}

// Refresh asks for a poll now. It never waits, and a burst of calls is one poll.
func (s *Source) Refresh() {
	select {
	case s.wish <- struct{}{}:
	default: // one is wished for already
	}
}

// Run implements sources.Source.
func (s *Source) Run(ctx context.Context, sink sources.Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	transport, hello, err := s.hello(ctx)
	if err != nil {
		return s.classify(ctx, err)
	}
	s.greet(transport, hello)
	c := &connection{Source: s, sink: sink, transport: transport}
	if err := c.poll(ctx); err != nil {
		return s.classify(ctx, err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); s.slow.run(ctx, transport, hello.Accounting) }()
	defer func() { cancel(); <-ended }()
	return s.classify(ctx, c.loop(ctx))
}

// greet notes who answers. What the slower asks found before stays.
func (s *Source) greet(t slurm.Transport, h slurm.Hello) {
	f := &s.facts
	f.Name, f.Kind, f.Version, f.Native = s.opts.Cluster, fleet.Slurm, h.Version, h.Native
	f.Identity = fleet.Identity{User: h.User, Role: h.Role, Via: t.Via()}
	f.Offset, f.Skew, f.Accounting = h.Offset, h.Skew, h.Accounting
}

func (s *Source) hello(ctx context.Context) (slurm.Transport, slurm.Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	t, h, err := s.opts.Client.Reader(ctx)
	if err != nil {
		return nil, slurm.Hello{}, fmt.Errorf("cluster %s: %w", s.opts.Cluster, err)
	}
	return t, h, nil
}

// classify makes the error that Run returns. A slurmctld that is slow is left alone
// for longer each time.
func (s *Source) classify(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no answer within %s", slurm.ErrBusy, pollTimeout)
	}
	if !errors.Is(err, slurm.ErrBusy) {
		return err
	}
	s.interval = min(2*s.interval, maxInterval)
	return sources.Later(err, s.interval)
}

// connection is one run of a Source.
type connection struct {
	*Source
	sink      sources.Sink
	transport slurm.Transport
	last      fleet.Update // without its rows
}

// loop polls until something fails, and passes on what the slower asks found.
func (c *connection) loop(ctx context.Context) error {
	next := time.NewTimer(c.pause())
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f := <-c.slow.found:
			c.learn(f)
			continue
		case <-c.wish:
			next.Reset(max(0, MinInterval-time.Since(c.lastPoll)))
			continue
		case <-next.C:
		}
		if err := c.poll(ctx); err != nil {
			return err
		}
		next.Reset(c.pause())
	}
}

// pause is the time until the next poll is due, with a little jitter so that many
// consoles do not ask all at once.
func (c *connection) pause() time.Duration {
	jitter := c.interval / 40
	return max(MinInterval, c.interval-jitter+rand.N(2*jitter)-time.Since(c.lastPoll))
}
