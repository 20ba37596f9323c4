package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// StoreOptions are what a Store needs to know. The zero value works.
type StoreOptions struct {
	// Sources are shown in this order, as they are here until Status says more.
	Sources []SourceState
	// Hosts gives nodes another host name than their short one: by "cluster/node"
	// or by node.
	Hosts map[string]string
	// MaxEvents bounds the timeline; 0 is DefaultMaxEvents.
	MaxEvents int
	// Interval is the least time between two snapshots; 0 is DefaultInterval.
	Interval time.Duration
	// Evaluate fills Snapshot.Findings of a snapshot about to be published. It is
	// called from Run's goroutine and must not keep or change the snapshot.
	Evaluate func(*Snapshot) []Finding
}

// Defaults of StoreOptions.
const (
	DefaultMaxEvents = 2000
	DefaultInterval  = 200 * time.Millisecond // 5 Hz
)

// Store turns what sources say into snapshots. Update, Status and AddEvent only put
// their argument into a mailbox: they may be called from any goroutine and never
// wait for the work. The goroutine of Run owns everything else.
//
// Delivery: events arrive, every one; of updates and snapshots the latest wins.
type Store struct {
	opts   StoreOptions
	latest atomic.Pointer[Snapshot]
	wake   chan struct{}

	mu   sync.Mutex // guards mail and subs
	mail mail
	subs map[chan *Snapshot]struct{}

	// Owned by Run.
	state *state
}

// mail is what came in since Run last looked.
type mail struct {
	updates  []Update
	statuses []SourceState
	events   []Event
}

// NewStore returns a store that has published one empty snapshot.
func NewStore(opts StoreOptions) *Store {
	if opts.MaxEvents <= 0 {
		opts.MaxEvents = DefaultMaxEvents
	}
	if opts.Interval <= 0 {
		opts.Interval = DefaultInterval
	}
	s := &Store{
		opts: opts, wake: make(chan struct{}, 1), subs: map[chan *Snapshot]struct{}{}, state: newState(opts),
	}
	s.latest.Store(s.state.snapshot(time.Now()))
	return s
}

// Update takes what a source says.
func (s *Store) Update(u Update) {
	s.post(func(m *mail) {
		if u.Full && !u.NoJobs && !u.NoViews {
			m.replace(&u)
		}
		m.updates = append(m.updates, u)
	})
}

// Status takes how a source stands.
func (s *Store) Status(st SourceState) {
	s.post(func(m *mail) { m.statuses = append(m.statuses, st) })
}

// AddEvent puts a line on the timeline.
func (s *Store) AddEvent(e Event) {
	s.post(func(m *mail) { m.events = append(m.events, e) })
}

// replace drops the updates of the source that a full one makes void, but keeps
// what they told of the cluster.
func (m *mail) replace(u *Update) {
	kept := m.updates[:0]
	for _, old := range m.updates {
		switch {
		case old.Source != u.Source:
			kept = append(kept, old)
		case u.Cluster == nil:
			u.Cluster = old.Cluster
		}
	}
	m.updates = kept
}

func (s *Store) post(put func(*mail)) {
	s.mu.Lock()
	put(&s.mail)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // Run is already told
	}
}

// Latest returns the newest snapshot; never nil.
func (s *Store) Latest() *Snapshot { return s.latest.Load() }

// Subscribe returns a channel that has the newest snapshot whenever it is read too
// late for the ones before, and a function that ends the subscription and closes
// the channel.
func (s *Store) Subscribe() (<-chan *Snapshot, func()) {
	ch := make(chan *Snapshot, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	ch <- s.latest.Load()
	s.subs[ch] = struct{}{}
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, ok := s.subs[ch]; ok {
			delete(s.subs, ch)
			close(ch)
		}
	}
}

// Run applies what comes in and publishes snapshots until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	next := time.NewTimer(0) // when a snapshot may be published again
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
		}
		if s.apply() {
			s.publish()
		}
		next.Reset(s.opts.Interval)
	}
}

// apply works off the mailbox and reports whether anything changed.
func (s *Store) apply() bool {
	s.mu.Lock()
	m := s.mail
	s.mail = mail{}
	s.mu.Unlock()
	changed := false
	for i := range m.updates {
		changed = s.state.update(&m.updates[i]) || changed
	}
	for _, st := range m.statuses {
		changed = s.state.status(st) || changed
	}
	for _, e := range m.events {
		s.state.timeline.add(e)
		changed = true
	}
	return changed
}

func (s *Store) publish() {
	snap := s.state.snapshot(time.Now())
	if s.opts.Evaluate != nil {
		snap.Findings = s.opts.Evaluate(snap)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.Store(snap)
	for ch := range s.subs {
		select { // only this goroutine sends, so there is room after this
		case <-ch:
		default:
		}
		ch <- snap
	}
}
