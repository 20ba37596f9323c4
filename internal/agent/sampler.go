package agent

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/faults"
	"github.com/gpuctl/gpuctl/internal/agent/host"
	"github.com/gpuctl/gpuctl/internal/agent/kmsg"
	"github.com/gpuctl/gpuctl/internal/agent/pci"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Options are what an agent is made of.
type Options struct {
	Driver  Driver
	Version string // of gpuctl
	// Interval is how often the devices are read; 0 stands for a second.
	Interval time.Duration
	Host     host.Host
	// KernelLog is /dev/kmsg outside tests.
	KernelLog string
	// StateDir keeps faults and requests over restarts; empty: they are forgotten.
	StateDir string
	// AsRoot says that the environment of other users' processes can be read.
	AsRoot bool
	Log    *slog.Logger // nil: none
}

const (
	slowly     = 10 * time.Second // how often what rarely changes is looked at
	firstLimit = 15 * time.Second // for a driver that has to wake its devices first
	firstState = 10 * time.Second // when the first state is published without the driver's word
)

// Sampler reads the devices of its host at an interval and publishes what it knows. It
// is safe for concurrent use.
type Sampler struct {
	opts Options
	book *faults.Book

	boot, name, machine string // of the host

	wake   chan struct{} // a fault came: publish without waiting
	driver chan struct{} // held by whoever uses the driver; see Exclusive
	probes []*probe
	owner  *probe // after the others: it asks about what they found

	manager host.FabricManager // of the probe of the machine alone

	mu       sync.Mutex // guards the rest
	began    time.Time
	state    *State
	changed  chan struct{} // closed and replaced with every state
	found    findings
	problems map[string]string // by what they are about
	paused   string            // why the driver is not read
	events   context.CancelFunc
	quiet    chan struct{} // closed while no events are listened to
}

// findings is what the probes found last.
type findings struct {
	sample  DriverSample
	err     error     // of the last sample
	since   time.Time // when the driver answered last
	devices []pci.Device
	scanned bool
	manager fleet.Check
	boards  []fleet.MIGBoard
	owners  map[int]fleet.Owner
	missing map[string]time.Time // PCI id of a device that should be there: since when
}

// New returns a sampler. A book of faults that cannot be read is a problem that the
// samples tell, not an error.
func New(o Options) *Sampler {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sampler{
		opts: o, boot: o.Host.BootID(), name: o.Host.Name(), machine: o.Host.MachineID(), manager: host.FabricManager{Host: o.Host},
		wake: make(chan struct{}, 1), driver: make(chan struct{}, 1),
		changed: make(chan struct{}), quiet: make(chan struct{}), problems: map[string]string{},
	}
	close(s.quiet)
	path := ""
	if o.StateDir != "" {
		path = filepath.Join(o.StateDir, "faults.json")
	}
	var err error
	s.book, err = faults.Open(path, s.boot)
	s.note("earlier faults", err)
	s.probes = []*probe{
		{name: "reading the GPUs", limit: firstLimit, run: s.readDriver},
		{name: "looking at the machine", every: slowly, limit: slowly, run: s.readMachine},
		{name: "asking what the GPUs can be cut into", every: slowly, limit: time.Second, run: s.readBoards},
	}
	s.owner = &probe{name: "finding the owners of processes", limit: o.Interval, run: s.readOwners}
	return s
}

// Run samples until ctx ends.
func (s *Sampler) Run(ctx context.Context) error {
	s.mu.Lock()
	s.began = time.Now()
	s.mu.Unlock()
	var work sync.WaitGroup
	defer s.end(&work)
	work.Go(func() { s.followKernelLog(ctx) })
	work.Go(func() { s.listen(ctx) })
	tick := time.NewTicker(s.opts.Interval)
	defer tick.Stop()
	for {
		s.round(ctx, &work)
		if !s.pause(ctx, tick.C) {
			return ctx.Err()
		}
	}
}

// end waits for what was started. A driver that never returns must not keep the agent
// from ending.
func (s *Sampler) end(work *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		s.opts.Log.Warn("something does not return; it is left behind")
	}
	s.save()
}

// pause waits for the next round, and publishes faults that come meanwhile.
func (s *Sampler) pause(ctx context.Context, tick <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
			return true
		case <-s.wake:
			s.publish()
			sleep(ctx, s.opts.Interval/20) // a log gone mad must not keep us busy
		}
	}
}

// round runs what is due and publishes what is known then, whether or not everything
// has returned.
func (s *Sampler) round(ctx context.Context, work *sync.WaitGroup) {
	var runs []<-chan struct{}
	for _, p := range s.probes {
		if done := p.start(ctx, work); done != nil {
			runs = append(runs, done)
		}
	}
	await(ctx, s.opts.Interval*3/4, runs)
	if done := s.owner.start(ctx, work); done != nil {
		await(ctx, s.opts.Interval/8, []<-chan struct{}{done})
	}
	s.judge()
	s.publish()
	s.save()
}

// Latest is what was published last; nil at the start.
func (s *Sampler) Latest() *State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// newer returns a state after the one that was seen and a channel that is ready; or
// nil, and a channel that is closed when there is one.
func (s *Sampler) newer(seen *State) (*State, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil || seen != nil && s.state.Seq <= seen.Seq {
		return nil, s.changed
	}
	ready := make(chan struct{})
	close(ready)
	return s.state, ready
}

// Next waits for a state after the one that was seen; nil: none was. A caller that is
// slow misses those between.
func (s *Sampler) Next(ctx context.Context, seen *State) (*State, error) {
	for {
		state, changed := s.newer(seen)
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if state != nil {
			return state, nil
		}
	}
}

// Err says what is wrong with the driver as a whole; nil while it answers.
func (s *Sampler) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found.err
}

// publish makes a state of what is known. The first one waits a little for the driver,
// which may have to wake its devices: they are not missing.
func (s *Sampler) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.found.since.IsZero() && s.found.err == nil && now.Sub(s.began) < firstState {
		return
	}
	s.state = s.compose(now).after(s.state)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Sampler) save() { s.note("keeping faults", s.book.Save()) }

// note keeps a problem until err is nil.
func (s *Sampler) note(about string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.problems, about)
		return
	}
	s.problems[about] = about + ": " + err.Error()
}

// troubles lists what the agent cannot do now, and why. Hold mu.
func (s *Sampler) troubles(now time.Time) []string {
	var out []string
	for _, text := range s.problems {
		out = append(out, text)
	}
	slices.Sort(out)
	for _, p := range append(slices.Clone(s.probes), s.owner) {
		if text := p.problem(now, 2*s.opts.Interval); text != "" {
			out = append(out, text)
		}
	}
	if s.paused != "" {
		out = append(out, "the GPUs are not read: "+s.paused)
	}
	return out
}

// followKernelLog enters what the kernel log says until ctx ends.
func (s *Sampler) followKernelLog(ctx context.Context) {
	booted, err := s.opts.Host.Booted()
	s.note("when the machine started", err)
	var lost uint64
	reader := kmsg.Reader{
		Path: s.opts.KernelLog, Booted: booted,
		Emit: func(e kmsg.Event) {
			if s.book.Kernel(e) {
				s.hurry()
			}
		},
		Lost: func(n uint64) {
			lost += n
			s.note("kernel log", lostRecords(lost))
		},
	}
	for ctx.Err() == nil {
		err := reader.Run(ctx)
		if ctx.Err() == nil {
			s.note("faults in the kernel log are not seen", err)
			sleep(ctx, slowly)
			s.note("faults in the kernel log are not seen", nil)
		}
	}
}

// listen enters what the driver tells by itself until ctx ends.
func (s *Sampler) listen(ctx context.Context) {
	for ctx.Err() == nil {
		events, err := s.subscribe(ctx)
		if err == nil {
			for e := range events {
				s.book.Event(e.UUID, s.book.PCIOf(e.UUID), e.Kind, e.Code, e.At)
				s.hurry()
			}
		}
		s.unsubscribe()
		if !errors.Is(err, ErrNoDriver) { // which the samples tell already
			s.note("events of the driver", err)
		}
		sleep(ctx, s.opts.Interval)
	}
}

// hurry has the next state published at once.
func (s *Sampler) hurry() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
