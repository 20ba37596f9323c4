package nvml

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Supervised is the driver of this host, read by a child process. It is an
// agent.Driver.
type Supervised struct {
	o        Options
	life     context.Context // of the probes
	end      context.CancelFunc
	probes   sync.WaitGroup
	events   subscribers
	sampling sync.Mutex // one sample at a time
	quiet    time.Time  // since when the child has not answered; under sampling

	mu       sync.Mutex
	child    *child // nil: to be started
	restarts int    // in a row without a good sample in between
	notUntil time.Time
	why      error // of the last end of a child
	changing bool  // a child that leaves a device alone is being started
	aside    map[int]*aside
	seen     *remembered
	leaving  []*child // probes, and what was killed and perhaps is not gone yet
}

var _ agent.Driver = (*Supervised)(nil)

// New makes a Supervised; nothing is started or opened before its first use.
func New(o Options) (*Supervised, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	return &Supervised{o: o, life: life, end: end, aside: map[int]*aside{}, seen: newRemembered()}, nil
}

// current returns the child, and starts one when there is none. After failures it is
// not started again at once.
func (s *Supervised) current() (*child, error) {
	if !cgoBuilt {
		return nil, errNoCgo
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil && !s.child.dead() {
		return s.child, nil
	}
	if s.child != nil {
		s.failedLocked(s.child.why())
	}
	if wait := time.Until(s.notUntil); wait > 0 {
		return nil, fmt.Errorf("%w; started again in %s", s.why, wait.Round(time.Second))
	}
	c, err := startChild(s.life, &s.o, s.events.tell)
	if err != nil {
		s.failedLocked(err)
		return nil, err
	}
	s.child = c
	s.subscribe(c)
	return c, nil
}

// subscribe has a child tell events, if anybody wants them.
func (s *Supervised) subscribe(c *child) {
	if s.events.any() {
		go func() { _, _ = c.ask(s.life, request{Op: opEvents}) }() // ends with the child at the latest
	}
}

// failedLocked notes that a child ended or had to be ended. The first time it is
// replaced at once.
func (s *Supervised) failedLocked(why error) {
	s.child, s.why = nil, why
	s.pauseLocked()
}

// pauseLocked puts off the next restart, not for the first, and longer each time.
func (s *Supervised) pauseLocked() {
	if s.restarts > 0 {
		s.notUntil = time.Now().Add(min(time.Second<<min(s.restarts-1, 10), longestRestart))
	}
	s.restarts++
}

// dropLocked kills a child.
func (s *Supervised) dropLocked(c *child, why error) {
	c.kill()
	s.leaving = append(slices.DeleteFunc(s.leaving, (*child).dead), c)
	if s.child == c {
		s.failedLocked(why)
	}
}

// Sample reads every device.
func (s *Supervised) Sample(ctx context.Context) (agent.DriverSample, error) {
	s.sampling.Lock()
	defer s.sampling.Unlock()
	sample, err := s.sample(ctx)
	if err != nil && ctx.Err() == nil && errors.Is(err, errEnded) {
		sample, err = s.sample(ctx) // once more, with a new child
	}
	return sample, err
}

func (s *Supervised) sample(ctx context.Context) (agent.DriverSample, error) {
	c, err := s.current()
	if err != nil {
		return agent.DriverSample{}, err
	}
	began := time.Now()
	limit, cancel := context.WithTimeout(ctx, s.longest())
	defer cancel()
	skip := s.skipped()
	r, err := c.ask(limit, request{Op: opSample, Skip: skip, Only: -1})
	if err == nil {
		s.quiet = time.Time{}
	}
	switch {
	case err == nil && r.Err == nil && r.Stuck == nil:
		if old := tooOld(r.Devices); old != nil {
			return agent.DriverSample{Driver: r.System.Driver, NVML: r.System.NVML, Calls: r.Calls}, old
		}
		return s.rows(c, r, skip), nil
	case err == nil && r.Err != nil:
		return agent.DriverSample{Calls: r.Calls}, r.Err
	case err == nil:
		return s.allSilent(c, r.Stuck, r.Devices)
	case limit.Err() == nil || errors.Is(ctx.Err(), context.Canceled):
		return agent.DriverSample{}, err
	}
	if s.quiet.IsZero() {
		s.quiet = began
	}
	return s.allSilent(c, &stuck{Call: ourselves, Age: time.Since(s.quiet)}, nil)
}

// longest is more than the child takes for any sample: it answers although calls do not
// return.
func (s *Supervised) longest() time.Duration { return patience(ourselves, s.o.Deadline) + time.Second }

// tooOld is the error of a driver that cannot even tell who its devices are.
func tooOld(devices []result) error {
	for i := range devices {
		if devices[i].Err == nil || !errors.Is(devices[i].Err, agent.ErrOldDriver) {
			return nil
		}
	}
	if len(devices) == 0 {
		return nil
	}
	return devices[0].Err
}

// rows makes a row of every result, and puts devices aside that are stuck.
func (s *Supervised) rows(c *child, r *reply, skipped []int) agent.DriverSample {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	out := agent.DriverSample{Driver: r.System.Driver, CUDA: r.System.CUDA, NVML: r.System.NVML, At: now, Calls: r.Calls}
	if s.seen.counted(r.System.Count) {
		clear(s.aside) // these were other devices
	}
	slices.SortStableFunc(r.Devices, func(a, b result) int { return order(&a) - order(&b) })
	for i := range r.Devices {
		out.GPUs = append(out.GPUs, s.row(&r.Devices[i], now))
	}
	for _, i := range skipped {
		if a := s.aside[i]; a != nil {
			out.GPUs = append(out.GPUs, s.seen.silent(i, fleet.GPUHanging, a.why(), now))
		} else if last, ok := s.seen.last(i); ok {
			out.GPUs = append(out.GPUs, last) // it answered a probe just now
		}
	}
	out.GPUs = append(out.GPUs, s.seen.missing(out.GPUs, now)...)
	slices.SortStableFunc(out.GPUs, func(a, b fleet.GPU) int { return a.Index - b.Index })
	if !s.leaveAlone(c, r.Devices, now) && !s.changing {
		s.restarts = 0
	}
	for _, i := range s.dueLocked(now) {
		s.probes.Go(func() { s.probe(i) })
	}
	return out
}

// order puts what answers first: whose identity is known takes it, before one is
// presumed of those that do not answer.
func order(r *result) int {
	if r.GPU != nil {
		return 0
	}
	return 1
}

func (s *Supervised) row(r *result, now time.Time) fleet.GPU {
	switch {
	case r.GPU != nil:
		return s.seen.answered(r.GPU)
	case r.Err != nil:
		return s.seen.silent(r.Index, fleet.GPULost, r.Err.Text, now)
	}
	if last, ok := s.seen.last(r.Index); ok && (r.Stuck.Age < s.o.Deadline || changes(r.Stuck.Call)) {
		return last // busy with a change, or slow: old, and dated so
	}
	return s.seen.silent(r.Index, fleet.GPUHanging, r.Stuck.why(), now)
}

// allSilent is a sample in which the library as a whole did not answer; devices are
// those which did not either.
func (s *Supervised) allSilent(c *child, at *stuck, devices []result) (agent.DriverSample, error) {
	why := at.why()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := agent.DriverSample{At: time.Now()}
	found := s.leaveAlone(c, devices, out.At)
	if !found && !s.changing && !out.At.Before(s.notUntil) && at.Age >= patience(at.Call, s.o.Deadline) {
		s.dropLocked(c, fmt.Errorf("%w: %s", agent.ErrHanging, why))
	}
	for _, i := range slices.Sorted(maps.Keys(s.seen.indices)) {
		out.GPUs = append(out.GPUs, s.seen.silent(i, fleet.GPUHanging, why, out.At))
	}
	if len(out.GPUs) == 0 {
		return out, fmt.Errorf("%w: %s", agent.ErrHanging, why)
	}
	return out, nil
}

// MIG is the partitioning of a device.
func (s *Supervised) MIG(uuid string) mig.Device { return &device{s, uuid} }

// Release ends every process of ours that has the driver open, after the sample that is
// under way.
func (s *Supervised) Release(ctx context.Context) error {
	s.sampling.Lock()
	defer s.sampling.Unlock()
	return s.letGo(ctx)
}

func (s *Supervised) letGo(ctx context.Context) error {
	s.mu.Lock()
	all := s.leaving
	if s.child != nil {
		all = append(all, s.child)
	}
	s.child, s.leaving = nil, nil
	s.mu.Unlock()
	var errs []error
	for _, c := range all {
		if err := c.end(ctx); err != nil {
			errs = append(errs, err)
			s.mu.Lock()
			s.leaving = append(s.leaving, c)
			s.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// Close is Release for good.
func (s *Supervised) Close() error {
	s.end()
	s.probes.Wait()
	return s.Release(context.Background())
}
