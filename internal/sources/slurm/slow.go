package slurm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/slurm"
)

// The slower asks: how often, how long each may take, and how many of them may go
// to slurmctld in a minute, beside the polls.
const (
	statsEvery      = time.Minute
	partitionsEvery = 3 * time.Minute
	limitsEvery     = 5 * time.Minute
	historyEvery    = 10 * time.Minute
	slowTimeout     = 20 * time.Second
	slowPerMinute   = 3
	refusedEvery    = time.Hour // what was refused for good may be allowed one day
)

// finding is what one slower ask found out.
type finding struct {
	what string
	err  error
	put  func(*connection)
}

// chore is one of the slower asks.
type chore struct {
	what  string
	every time.Duration
	due   time.Time
	// dbd tells the asks of slurmdbd from those of slurmctld.
	dbd bool
	do  func(ctx context.Context, t slurm.Transport) (func(*connection), error)
}

// slow works through the chores in a goroutine of its own, so that none of them
// holds up a poll. What was asked when is kept from one connection to the next.
type slow struct {
	found  chan finding
	chores []*chore
	asked  []time.Time // when slurmctld was asked, within the last minute
}

// newSlow makes the chores, all of them due at once.
func newSlow() *slow {
	return &slow{found: make(chan finding), chores: []*chore{
		{what: "partitions", every: partitionsEvery, do: askPartitions},
		{what: "statistics", every: statsEvery, do: askStats},
		{what: "reservations", every: partitionsEvery, do: askReservations},
		{what: "QOS", every: limitsEvery, dbd: true, do: askQOS},
		{what: "finished jobs", every: historyEvery, dbd: true, do: askHistory()},
	}}
}

// run does what is due, one chore at a time, until ctx ends.
func (s *slow) run(ctx context.Context, t slurm.Transport, accounting bool) {
	for {
		c, wait := s.next(time.Now(), accounting)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		f := s.do(ctx, t, c)
		select {
		case <-ctx.Done():
			return
		case s.found <- f:
		}
	}
}

// next is the chore to do next and how long to wait for it.
func (s *slow) next(now time.Time, accounting bool) (*chore, time.Duration) {
	s.asked = slices.DeleteFunc(s.asked, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	var first *chore
	var at time.Time
	for _, c := range s.chores {
		due := c.due
		switch {
		case c.dbd && !accounting:
			continue
		case !c.dbd && len(s.asked) >= slowPerMinute:
			if free := s.asked[0].Add(time.Minute); free.After(due) {
				due = free
			}
		}
		if first == nil || due.Before(at) {
			first, at = c, due
		}
	}
	return first, max(0, at.Sub(now))
}

func (s *slow) do(ctx context.Context, t slurm.Transport, c *chore) finding {
	ctx, cancel := context.WithTimeout(ctx, slowTimeout)
	defer cancel()
	now := time.Now()
	c.due = now.Add(c.every)
	if !c.dbd {
		s.asked = append(s.asked, now)
	}
	put, err := c.do(ctx, t)
	if errors.Is(err, slurm.ErrUnsupported) || errors.Is(err, slurm.ErrNoAccounting) || errors.Is(err, slurm.ErrDenied) {
		c.due = now.Add(refusedEvery)
	}
	return finding{what: c.what, err: err, put: put}
}

// learn takes in a finding and passes the cluster's facts on. An ask that failed
// leaves what is known, with a note.
func (c *connection) learn(f finding) {
	prefix := f.what + ": "
	c.facts.Notes = slices.DeleteFunc(slices.Clone(c.facts.Notes), func(n string) bool { return strings.HasPrefix(n, prefix) })
	if f.err != nil {
		c.facts.Notes = append(c.facts.Notes, prefix+f.err.Error())
		c.opts.Log.Warn("could not be asked", "cluster", c.opts.Cluster, "what", f.what, "error", f.err)
	} else {
		f.put(c)
	}
	u := c.last // of the last poll: these facts make its rows no fresher
	u.NoViews, u.NoJobs, u.Cluster = true, true, c.cluster()
	c.sink.Update(u)
}

func askPartitions(ctx context.Context, t slurm.Transport) (func(*connection), error) {
	v, err := t.Partitions(ctx)
	return func(c *connection) { c.facts.Partitions = v }, err
}

func askReservations(ctx context.Context, t slurm.Transport) (func(*connection), error) {
	v, err := t.Reservations(ctx)
	return func(c *connection) { c.facts.Reservations = v }, err
}

func askStats(ctx context.Context, t slurm.Transport) (func(*connection), error) {
	v, err := t.Stats(ctx)
	return func(c *connection) { c.facts.Stats = &v }, err
}

func askQOS(ctx context.Context, t slurm.Transport) (func(*connection), error) {
	v, err := t.QOS(ctx)
	return func(c *connection) { c.facts.QOS = v }, err
}

// askHistory asks for the jobs that ended before the console was started, and later
// for those that came and went between two polls.
func askHistory() func(context.Context, slurm.Transport) (func(*connection), error) {
	var asked time.Time
	return func(ctx context.Context, t slurm.Transport) (func(*connection), error) {
		now := time.Now()
		since := now.Add(-historyAge)
		if !asked.IsZero() {
			since = asked.Add(-time.Minute) // slurmdbd lags behind
		}
		jobs, err := t.Accounting(ctx, since)
		if err == nil {
			asked = now
		}
		return func(c *connection) { c.history.learn(jobs) }, err
	}
}
