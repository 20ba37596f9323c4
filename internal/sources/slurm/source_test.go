package slurm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
	"github.com/gpuctl/gpuctl/internal/sources"
)

// fake is a Transport that answers from its fields and counts what it was asked.
type fake struct {
	slurm.Transport // the writes, which no source may call

	mu      sync.Mutex
	asked   map[string][]time.Time
	cost    time.Duration
	views   []fleet.View
	jobs    []fleet.Job
	past    []fleet.Job
	fail    map[string]error
	noAcct  bool
	history []time.Time // since of each Accounting call
}

func (f *fake) ask(ctx context.Context, what string) error {
	f.mu.Lock()
	if f.asked == nil {
		f.asked = map[string][]time.Time{}
	}
	f.asked[what] = append(f.asked[what], time.Now())
	cost, err := f.cost, f.fail[what]
	f.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(cost):
		return err
	}
}

func (f *fake) set(change func()) { f.mu.Lock(); defer f.mu.Unlock(); change() }

func (f *fake) count(what ...string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, w := range what {
		n += len(f.asked[w])
	}
	return n
}

func (f *fake) Via() string { return "fake" }

func (f *fake) Hello(ctx context.Context) (slurm.Hello, error) {
	return slurm.Hello{Version: "24.11.5", Native: "gpulab", User: "gpuop", Role: fleet.RoleOperator, Accounting: !f.noAcct}, f.ask(ctx, "hello")
}

func (f *fake) Nodes(ctx context.Context) ([]fleet.View, error) {
	err := f.ask(ctx, "nodes")
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]fleet.View(nil), f.views...), err
}

func (f *fake) Jobs(ctx context.Context) ([]fleet.Job, error) {
	err := f.ask(ctx, "jobs")
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]fleet.Job(nil), f.jobs...), err
}

func (f *fake) Partitions(ctx context.Context) ([]fleet.Partition, error) {
	return []fleet.Partition{{Name: "gpu"}}, f.ask(ctx, "partitions")
}

func (f *fake) Reservations(ctx context.Context) ([]fleet.Reservation, error) {
	return []fleet.Reservation{{Name: "maint"}}, f.ask(ctx, "reservations")
}

func (f *fake) Stats(ctx context.Context) (fleet.SchedulerStats, error) {
	return fleet.SchedulerStats{ServerThreads: 7}, f.ask(ctx, "stats")
}

func (f *fake) QOS(ctx context.Context) ([]fleet.QOS, error) {
	return []fleet.QOS{{Name: "normal"}}, f.ask(ctx, "qos")
}

func (f *fake) Accounting(ctx context.Context, since time.Time) ([]fleet.Job, error) {
	f.set(func() { f.history = append(f.history, since) })
	return append([]fleet.Job(nil), f.past...), f.ask(ctx, "accounting")
}

// record keeps the updates of a source.
type record struct {
	mu      sync.Mutex
	updates []fleet.Update
}

func (r *record) Update(u fleet.Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updates = append(r.updates, u)
}

// full returns the updates with rows.
func (r *record) full() []fleet.Update {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []fleet.Update
	for _, u := range r.updates {
		if u.Full {
			out = append(out, u)
		}
	}
	return out
}

func (r *record) cluster() fleet.Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.updates[len(r.updates)-1].Cluster
}

func newFake() *fake {
	return &fake{
		cost:  50 * time.Millisecond,
		views: []fleet.View{{Node: "n1", Base: fleet.BaseIdle}, {Node: "n2", Oddities: []string{"state FOO"}}},
		jobs:  []fleet.Job{{Key: fleet.JobKey{ID: "1"}, ID: "1", Base: fleet.JobRunning}},
		fail:  map[string]error{},
	}
}

// running runs the source once, and calls f while it runs. It returns what Run did.
func running(t *testing.T, f *fake, look func(t *testing.T, s *Source, r *record)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Cluster: "ai", Client: slurm.New(f)})
		r := &record{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, r) }()
		look(t, s, r)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}

// runOnce runs a source until it fails.
func runOnce(t *testing.T, s *Source) (*record, error) {
	t.Helper()
	r := &record{}
	return r, s.Run(t.Context(), r)
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestFullSetFirst(t *testing.T) {
	running(t, newFake(), func(t *testing.T, s *Source, r *record) {
		after(time.Second)
		u := r.full()[0]
		if len(u.Views) != 2 || u.Views[0].Cluster != "ai" || len(u.Jobs) != 1 || u.Jobs[0].Key.Cluster != "ai" ||
			u.Interval != defaultInterval || u.Cost != 100*time.Millisecond || u.NotUnder != 1 || u.Version != "24.11.5" {
			t.Errorf("%+v", u)
		}
		c := r.cluster()
		if len(c.Partitions) != 1 || len(c.Reservations) != 1 || len(c.QOS) != 1 || c.Stats == nil || c.Identity.User != "gpuop" || c.Identity.Via != "fake" || !c.Accounting {
			t.Errorf("the slower facts follow at once: %+v", c)
		}
		if i := s.Info(); i.Kind != "slurm" || i.Via != "fake" || i.Cluster != "ai" || s.Name() != "ai" {
			t.Errorf("%+v", i)
		}
	})
}

// The budget: nodes and jobs every ten seconds, and at most three more questions to
// slurmctld in any minute.
func TestBudget(t *testing.T) {
	f := newFake()
	running(t, f, func(t *testing.T, _ *Source, r *record) {
		after(5 * time.Second)
		for minute := range 20 {
			polls, more := f.count("nodes", "jobs"), f.count("partitions", "reservations", "stats", "hello")
			after(time.Minute)
			polls, more = f.count("nodes", "jobs")-polls, f.count("partitions", "reservations", "stats", "hello")-more
			if polls < 11 || polls > 13 || more > 3 {
				t.Errorf("minute %d: %d polls, %d more", minute, polls, more)
			}
		}
		if n := f.count("partitions"); n < 6 || n > 8 {
			t.Errorf("partitions were asked %d times in 20 minutes", n)
		}
		if n := f.count("stats"); n < 15 {
			t.Errorf("statistics were asked %d times in 20 minutes", n)
		}
		all := r.full()
		for i := 1; i < len(all); i++ {
			if gap := all[i].At.Sub(all[i-1].At); gap > 10500*time.Millisecond {
				t.Errorf("poll %d came after %s", i, gap)
			}
		}
	})
}

func TestSlowControllerStretchesAndRecovers(t *testing.T) {
	f := newFake()
	running(t, f, func(t *testing.T, _ *Source, r *record) {
		after(11 * time.Second)
		f.set(func() { f.cost = 2 * time.Second })
		after(15 * time.Second)
		u := r.full()
		if got := u[len(u)-1].Interval; got != 40*time.Second {
			t.Errorf("a poll of 4 s makes an interval of %s", got)
		}
		f.set(func() { f.cost = time.Millisecond })
		after(45 * time.Second)
		u = r.full()
		if got := u[len(u)-1].Interval; got != defaultInterval {
			t.Errorf("a quick poll brings it back, got %s", got)
		}
	})
}

// C115: slurmctld that says it is overloaded is left alone, longer each time.
func TestC115_BusyIsNeverRetriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fail["jobs"] = fmt.Errorf("squeue: %w: Socket timed out on send/recv operation", slurm.ErrBusy)
		s := New(Options{Cluster: "ai", Client: slurm.New(f)})
		store := &statuses{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- sources.NewSupervisor(store, sources.Options{}, s).Run(ctx) }()
		after(3 * time.Minute)
		polls := f.asked["jobs"]
		for i := 1; i < len(polls); i++ {
			if gap := polls[i].Sub(polls[i-1]); gap < 19*time.Second {
				t.Errorf("poll %d came after %s", i, gap)
			}
		}
		if len(polls) < 3 || len(polls) > 4 || len(store.updates) != 0 {
			t.Errorf("%d polls, %d updates", len(polls), len(store.updates))
		}
		f.set(func() { delete(f.fail, "jobs") })
		after(3 * time.Minute)
		if st := store.last; st.Status != fleet.SourceLive || st.Interval != defaultInterval {
			t.Errorf("%+v", st)
		}
		cancel()
		<-done
	})
}

// statuses is a store that keeps the last status.
type statuses struct {
	record
	last fleet.SourceState
}

func (s *statuses) Status(st fleet.SourceState) { s.mu.Lock(); defer s.mu.Unlock(); s.last = st }

func TestPollThatHangsIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.cost = time.Hour
		s := New(Options{Cluster: "ai", Client: slurm.New(f)})
		start := time.Now()
		if _, err := runOnce(t, s); !errors.Is(err, slurm.ErrBusy) || time.Since(start) > 30*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// C31: a fleet of no nodes is not believed until it is read twice.
func TestC31_EmptyFleetIsReadTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := New(Options{Cluster: "ai", Client: slurm.New(f)})
		time.AfterFunc(15*time.Second, func() { f.set(func() { f.views = nil }) })
		r, err := runOnce(t, s)
		if !errors.Is(err, slurm.ErrUnbelievable) || len(r.full()) != 2 {
			t.Errorf("%v after %d updates", err, len(r.full()))
		}
		f.set(func() { f.fail["nodes"] = fmt.Errorf("scontrol: %w", slurm.ErrUnbelievable) })
		time.AfterFunc(time.Second, func() { f.set(func() { f.fail["jobs"] = slurm.ErrUnreachable }) })
		r, err = runOnce(t, s)
		if all := r.full(); !errors.Is(err, slurm.ErrUnreachable) || len(all) == 0 || len(all[0].Views) != 0 {
			t.Errorf("the second reading is believed: %v, %d updates", err, len(all))
		}
	})
}

// A failed or partial answer emits nothing.
func TestPartialAnswerEmitsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fail["jobs"] = slurm.ErrUnreachable
		r, err := runOnce(t, New(Options{Cluster: "ai", Client: slurm.New(f)}))
		if !errors.Is(err, slurm.ErrUnreachable) || !strings.Contains(err.Error(), "cluster ai") || len(r.updates) != 0 {
			t.Errorf("%v, %d updates", err, len(r.updates))
		}
	})
}

func TestRefreshIsOnePollAndKeepsTheFloor(t *testing.T) {
	f := newFake()
	running(t, f, func(t *testing.T, s *Source, _ *record) {
		after(5 * time.Second)
		for range 100 {
			s.Refresh()
		}
		after(500 * time.Millisecond)
		if n := f.count("nodes"); n != 2 {
			t.Errorf("a burst makes %d polls", n-1)
		}
		s.Refresh()
		after(time.Second)
		if n := f.count("nodes"); n != 2 {
			t.Errorf("the floor is %s; %d polls", MinInterval, n)
		}
		after(time.Second)
		if n := f.count("nodes"); n != 3 {
			t.Errorf("after the floor it is asked: %d polls", n)
		}
	})
}

func TestSlowPartsNeverHarmThePoll(t *testing.T) {
	f := newFake()
	f.fail["qos"] = fmt.Errorf("sacctmgr: %w", slurm.ErrDenied)
	f.fail["stats"] = errors.New("sdiag: broken")
	running(t, f, func(t *testing.T, _ *Source, r *record) {
		after(25 * time.Second)
		c := r.cluster()
		want := "QOS: sacctmgr: permission denied"
		if len(r.full()) != 3 || len(c.Notes) != 2 || (c.Notes[0] != want && c.Notes[1] != want) || len(c.Partitions) != 1 {
			t.Errorf("%d polls, %+v", len(r.full()), c)
		}
		f.set(func() { f.fail = map[string]error{} })
		after(2 * time.Minute)
		if c := r.cluster(); len(c.Notes) != 1 || c.Notes[0] != want {
			t.Errorf("what works again loses its note, what was refused is not asked again soon: %q", c.Notes)
		}
		if n := f.count("qos"); n != 1 {
			t.Errorf("QOS was asked %d times", n)
		}
	})
}

// Jobs that ended stay visible after slurmctld forgot them.
func TestHistory(t *testing.T) {
	f := newFake()
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // where synctest starts
	ended := func(id string, at time.Time) fleet.Job {
		return fleet.Job{Key: fleet.JobKey{ID: id}, ID: id, Base: fleet.JobFailed, Ended: at}
	}
	f.past = []fleet.Job{ended("0", now.Add(-time.Hour)), ended("1", now.Add(-time.Hour)), ended("2", now.Add(-time.Minute))}
	f.jobs = append(f.jobs, ended("2", now))
	running(t, f, func(t *testing.T, _ *Source, r *record) {
		after(12 * time.Second)
		ids := func() string {
			var out []string
			u := r.full()
			for _, j := range u[len(u)-1].Jobs {
				out = append(out, j.ID+j.Key.Cluster)
			}
			return strings.Join(out, " ")
		}
		if got := ids(); got != "1ai 2ai 0ai" {
			t.Errorf("what is listed wins over the past: %s", got)
		}
		f.set(func() { f.jobs = nil })
		after(10 * time.Second)
		if got := ids(); got != "2ai 1ai 0ai" && got != "2ai 0ai 1ai" {
			t.Errorf("ended jobs stay: %s", got)
		}
		after(100 * time.Minute)
		if got := ids(); got != "2ai" {
			t.Errorf("for two hours: %s", got)
		}
		if len(f.history) < 2 || f.history[1].Before(f.history[0].Add(time.Hour)) {
			t.Errorf("later questions ask for what is new: %v", f.history)
		}
	})
}

func TestNoAccountingIsNotAsked(t *testing.T) {
	f := newFake()
	f.noAcct = true
	running(t, f, func(t *testing.T, _ *Source, r *record) {
		after(time.Minute)
		if f.count("qos", "accounting") != 0 || len(r.cluster().Notes) != 0 || r.cluster().Accounting {
			t.Errorf("%v", r.cluster().Notes)
		}
	})
}
