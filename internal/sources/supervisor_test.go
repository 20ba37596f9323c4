package sources

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// memory is a Store that remembers.
type memory struct {
	mu       sync.Mutex
	updates  []fleet.Update
	statuses map[string][]fleet.SourceState
}

func (m *memory) Update(u fleet.Update) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.updates = append(m.updates, u)
}

func (m *memory) Status(st fleet.SourceState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.statuses == nil {
		m.statuses = map[string][]fleet.SourceState{}
	}
	m.statuses[st.Name] = append(m.statuses[st.Name], st)
}

func (m *memory) last(name string) fleet.SourceState {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.statuses[name]
	if len(all) == 0 {
		return fleet.SourceState{}
	}
	return all[len(all)-1]
}

// scripted is a source that does what it is told, run by run.
type scripted struct {
	name string
	mu   sync.Mutex
	runs []time.Time
	do   func(ctx context.Context, run int, sink Sink) error
	asks int
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) Info() Info { return Info{Kind: "slurm", Cluster: s.name + "-cluster", Via: "test"} }

func (s *scripted) Refresh() { s.mu.Lock(); s.asks++; s.mu.Unlock() }

func (s *scripted) Run(ctx context.Context, sink Sink) error {
	s.mu.Lock()
	s.runs = append(s.runs, time.Now())
	n := len(s.runs)
	s.mu.Unlock()
	return s.do(ctx, n, sink)
}

func (s *scripted) count() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.runs) }

// polls emits every ten seconds, n times (0: for ever), then fails.
func polls(n int) func(context.Context, int, Sink) error {
	return func(ctx context.Context, run int, sink Sink) error {
		if run > 1 {
			return errors.New("login1 does not answer")
		}
		for i := 1; ; i++ {
			sink.Update(fleet.Update{Source: "a", Full: true, Interval: 10 * time.Second, Version: "24.11.5", NotUnder: 3})
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Second):
			}
			if i == n {
				return errors.New("login1 does not answer")
			}
		}
	}
}

// supervise runs the sources in a bubble; f looks at what the store was told.
func supervise(t *testing.T, f func(t *testing.T, m *memory, s *Supervisor), srcs ...Source) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		s := NewSupervisor(m, Options{}, srcs...)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		f(t, m, s)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestStaleThenDownWithinTwoIntervals(t *testing.T) {
	src := &scripted{name: "a", do: polls(2)}
	supervise(t, func(t *testing.T, m *memory, _ *Supervisor) {
		after(19 * time.Second)
		if st := m.last("a"); st.Status != fleet.SourceLive || st.Version != "24.11.5" || st.NotUnder != 3 || st.LastError != "" {
			t.Errorf("before the failure: %+v", st)
		}
		after(1500 * time.Millisecond) // the failure was at 20 s
		st := m.last("a")
		if st.Status != fleet.SourceStale || st.LastError != "login1 does not answer" || st.ErrorSince.IsZero() || st.NextTry.IsZero() {
			t.Errorf("after the failure: %+v", st)
		}
		after(11 * time.Second)
		if st := m.last("a"); st.Status != fleet.SourceDown || !st.ErrorSince.Equal(m.statuses["a"][len(m.statuses["a"])-2].ErrorSince) {
			t.Errorf("two intervals after the last success: %+v", st)
		}
	}, src)
}

func TestBackoffGrowsAndNeverHurries(t *testing.T) {
	src := &scripted{name: "a", do: func(context.Context, int, Sink) error { return errors.New("refused") }}
	supervise(t, func(t *testing.T, m *memory, _ *Supervisor) {
		after(5 * time.Minute)
		if n := src.count(); n < 10 || n > 20 {
			t.Errorf("%d tries in five minutes", n)
		}
		for i := 1; i < len(src.runs); i++ {
			if gap := src.runs[i].Sub(src.runs[i-1]); gap < minBackoff || gap > maxBackoff*6/5 {
				t.Errorf("try %d came after %s", i, gap)
			}
		}
		if st := m.last("a"); st.Status != fleet.SourceDown {
			t.Errorf("never answered, and says why: %+v", st)
		}
	}, src)
}

func TestSilenceShows(t *testing.T) {
	hangs := &scripted{name: "a", do: func(ctx context.Context, _ int, sink Sink) error {
		sink.Update(fleet.Update{Interval: 10 * time.Second})
		<-ctx.Done()
		return ctx.Err()
	}}
	never := &scripted{name: "b", do: func(ctx context.Context, _ int, _ Sink) error { <-ctx.Done(); return ctx.Err() }}
	watch := &scripted{name: "c", do: func(ctx context.Context, _ int, sink Sink) error {
		sink.Update(fleet.Update{})
		<-ctx.Done()
		return ctx.Err()
	}}
	supervise(t, func(t *testing.T, m *memory, _ *Supervisor) {
		after(14 * time.Second)
		if a, b := m.last("a"), m.last("b"); a.Status != fleet.SourceLive || b.Status != "" {
			t.Errorf("a %+v, b %+v", a, b)
		}
		after(3 * time.Second)
		if a := m.last("a"); a.Status != fleet.SourceStale || !strings.Contains(a.LastError, "not answered in time") {
			t.Errorf("overdue: %+v", a)
		}
		after(5 * time.Second)
		if a, b, c := m.last("a"), m.last("b"), m.last("c"); a.Status != fleet.SourceDown || b.Status != fleet.SourceDown || c.Status != fleet.SourceLive {
			t.Errorf("a %+v, b %+v, c %+v", a, b, c)
		}
	}, hangs, never, watch)
}

func TestPanicHarmsNobodyElse(t *testing.T) {
	bad := &scripted{name: "bad", do: func(context.Context, int, Sink) error { panic("boom") }}
	good := &scripted{name: "a", do: polls(0)}
	supervise(t, func(t *testing.T, m *memory, _ *Supervisor) {
		after(time.Minute)
		if b, a := m.last("bad"), m.last("a"); b.Status != fleet.SourceDown || b.LastError != "internal error in this source, a bug in gpuctl: boom" ||
			a.Status != fleet.SourceLive {
			t.Errorf("%+v, %+v", b, a)
		}
		if bad.count() < 2 {
			t.Error("it is tried again")
		}
	}, bad, good)
}

func TestRecovery(t *testing.T) {
	src := &scripted{name: "a", do: func(ctx context.Context, run int, sink Sink) error {
		if run < 4 {
			return errors.New("refused")
		}
		return polls(0)(ctx, 1, sink)
	}}
	supervise(t, func(t *testing.T, m *memory, _ *Supervisor) {
		after(time.Minute)
		if st := m.last("a"); st.Status != fleet.SourceLive || st.LastError != "" || !st.ErrorSince.IsZero() || !st.NextTry.IsZero() {
			t.Errorf("%+v", st)
		}
	}, src)
}

// C115: a source that says how long to leave slurmctld alone is believed.
func TestC115_LaterIsKept(t *testing.T) {
	src := &scripted{name: "a", do: func(context.Context, int, Sink) error {
		return Later(errors.New("slurmctld is slow"), 40*time.Second)
	}}
	supervise(t, func(t *testing.T, _ *memory, s *Supervisor) {
		after(time.Second)
		s.Refresh("a")
		after(38 * time.Second)
		if src.count() != 1 {
			t.Errorf("%d tries", src.count())
		}
		after(2 * time.Second)
		if src.count() != 2 {
			t.Errorf("%d tries", src.count())
		}
	}, src)
}

func TestRefresh(t *testing.T) {
	running := &scripted{name: "a", do: polls(0)}
	waiting := &scripted{name: "b", do: func(context.Context, int, Sink) error { return errors.New("refused") }}
	supervise(t, func(t *testing.T, m *memory, s *Supervisor) {
		after(2 * time.Minute) // b now waits for some 30 seconds
		for time.Until(m.last("b").NextTry) < 10*time.Second {
			after(time.Second)
		}
		before := waiting.count()
		s.Refresh("a-cluster")
		s.Refresh("nobody")
		for range 5 {
			s.Refresh("")
		}
		after(minBackoff + time.Second)
		if n := waiting.count(); running.asks != 6 || n == before {
			t.Errorf("%d asks of a, %d more runs of b", running.asks, n-before)
		}
		after(7 * time.Second) // a wish that came during that try may cause one more
		if waiting.count() > before+2 {
			t.Errorf("a burst: %d more runs", waiting.count()-before)
		}
	}, running, waiting)
}

func TestStates(t *testing.T) {
	st := NewSupervisor(&memory{}, Options{}, &scripted{name: "a"}).States()
	if len(st) != 1 || st[0].Name != "a" || st[0].Cluster != "a-cluster" || st[0].Status != fleet.SourceConnecting {
		t.Errorf("%+v", st)
	}
}

// A source that stands for many is alive while one of them answers.
func TestNobodyReachedIsNoSuccess(t *testing.T) {
	steps := []struct {
		reached int
		want    fleet.SourceStatus
	}{
		{0, fleet.SourceDown}, // it never answered
		{2, fleet.SourceLive},
		{0, fleet.SourceStale},
		{0, fleet.SourceDown},
		{1, fleet.SourceLive},
	}
	src := &scripted{name: "agents", do: func(ctx context.Context, _ int, sink Sink) error {
		for _, step := range steps {
			sink.Update(fleet.Update{Source: "agents", Reached: step.reached, Wanted: 3, Interval: 10 * time.Second, Problem: "no route"})
			time.Sleep(10 * time.Second)
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	supervise(t, func(t *testing.T, m *memory, _ *Supervisor) {
		after(time.Second)
		for i, step := range steps {
			st := m.last("agents")
			problem := map[bool]string{true: "", false: "no route"}[step.want == fleet.SourceLive]
			if st.Status != step.want || st.Reached != step.reached || st.Wanted != 3 || st.LastError != problem {
				t.Errorf("step %d: %+v", i, st)
			}
			after(10 * time.Second)
		}
	}, src)
}
