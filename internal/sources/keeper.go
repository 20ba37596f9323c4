package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Later wraps what a source's Run returns when it must not be tried again before d
// has passed.
func Later(err error, d time.Duration) error { return &later{err, d} }

type later struct {
	error
	after time.Duration
}

func (l *later) Unwrap() error { return l.error }

// keeper runs one source and knows how it stands.
type keeper struct {
	src   Source
	store Store
	opts  Options
	wake  chan struct{} // a wish to connect sooner

	mu       sync.Mutex // guards the rest
	state    fleet.SourceState
	failures int // in a row, since the last success
	started  time.Time
}

func newKeeper(src Source, store Store, opts Options) *keeper {
	info := src.Info()
	return &keeper{src: src, store: store, opts: opts, wake: make(chan struct{}, 1), state: fleet.SourceState{
		Name: src.Name(), Kind: info.Kind, Cluster: info.Cluster, Via: info.Via, Status: fleet.SourceConnecting,
	}}
}

// run connects the source again and again until ctx ends.
func (k *keeper) run(ctx context.Context) {
	for ctx.Err() == nil {
		k.starting()
		err := k.once(ctx)
		if ctx.Err() != nil {
			return
		}
		k.opts.Log.Warn("source failed", "source", k.src.Name(), "error", err)
		least, usual := k.failed(err)
		k.wait(ctx, least, usual)
	}
}

// once runs the source one time. A panic in it is its error.
func (k *keeper) once(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			k.opts.Log.Error("source panicked", "source", k.src.Name(), "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error in this source, a bug in gpuctl: %v", p)
		}
	}()
	if err := k.src.Run(ctx, sink{k}); err != nil {
		return err
	}
	return errors.New("ended without saying why")
}

// sink is what a running source writes to.
type sink struct{ k *keeper }

// Update passes the update on and notes the success, unless it says that of many not
// one answers.
func (s sink) Update(u fleet.Update) {
	if u.At.IsZero() {
		u.At = time.Now()
	}
	s.k.store.Update(u)
	s.k.change(func(st *fleet.SourceState) {
		st.Reached, st.Wanted = u.Reached, u.Wanted
		if u.Wanted > 0 && u.Reached == 0 {
			st.Interval, st.LastError = u.Interval, u.Problem
			if st.ErrorSince.IsZero() {
				st.ErrorSince = u.At
			}
			return
		}
		s.k.failures = 0
		st.LastSuccess, st.LastError, st.ErrorSince, st.NextTry = u.At, "", time.Time{}, time.Time{}
		st.Interval, st.Cost, st.NotUnder = u.Interval, u.Cost, u.NotUnder
		if u.Version != "" {
			st.Version = u.Version
		}
	})
}

func (k *keeper) starting() {
	k.change(func(st *fleet.SourceState) {
		k.started = time.Now()
		st.NextTry = time.Time{}
	})
}

// failed notes the failure and returns how long to wait: at least, and unless
// somebody wishes it sooner.
func (k *keeper) failed(err error) (least, usual time.Duration) {
	least = minBackoff
	if l := (*later)(nil); errors.As(err, &l) {
		least = max(least, l.after)
	}
	k.change(func(st *fleet.SourceState) {
		k.failures++
		usual = max(least, backoff(k.failures))
		now := time.Now()
		st.LastError, st.NextTry = err.Error(), now.Add(usual)
		if st.ErrorSince.IsZero() {
			st.ErrorSince = now
		}
	})
	return least, usual
}

// backoff is the wait after that many failures in a row, with jitter of a fifth.
func backoff(failures int) time.Duration {
	d := maxBackoff
	if failures < 5 {
		d = min(d, minBackoff<<(failures-1))
	}
	return max(minBackoff, d-d/5+rand.N(2*d/5))
}

// wait waits as failed said.
func (k *keeper) wait(ctx context.Context, least, usual time.Duration) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(least):
	}
	select {
	case <-ctx.Done():
	case <-time.After(usual - least):
	case <-k.wake:
	}
}

// refresh asks for fresh data, or for a sooner connection.
func (k *keeper) refresh() {
	k.mu.Lock()
	waiting := !k.state.NextTry.IsZero()
	k.mu.Unlock()
	if r, ok := k.src.(Refresher); ok && !waiting {
		r.Refresh()
		return
	}
	if !waiting {
		return
	}
	select {
	case k.wake <- struct{}{}:
	default: // it is awake already
	}
}

// watch looks at the clock, so that silence shows too.
func (k *keeper) watch(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			k.change(func(*fleet.SourceState) {})
		}
	}
}

// change applies f to the state, judges it, and tells the store when it is another.
func (k *keeper) change(f func(*fleet.SourceState)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.state
	f(&k.state)
	k.judge(time.Now())
	if k.state != before {
		k.store.Status(k.state)
	}
}

// overdue is what LastError says of a source that has not failed but is silent. It
// does not count, so that a silent source is not news every second.
func (k *keeper) overdue() string {
	info := k.src.Info()
	return fmt.Sprintf("%s has not answered in time (over %s)", cmp.Or(info.Server, info.Kind), info.Via)
}

// judge sets the status from the last success and the last failure.
func (k *keeper) judge(now time.Time) {
	st := &k.state
	interval, speaksInTime := st.Interval, st.Interval > 0 // a watch may be silent for long
	if !speaksInTime {
		interval = usualInterval
	}
	failing := !st.ErrorSince.IsZero()
	silence := now.Sub(st.LastSuccess)
	switch {
	case st.LastSuccess.IsZero():
		st.Status = fleet.SourceConnecting
		if failing || now.Sub(k.started) > 2*interval {
			st.Status = fleet.SourceDown
		}
	case speaksInTime && silence > 2*interval, failing && now.Sub(st.ErrorSince) > 2*interval:
		st.Status = fleet.SourceDown
	case failing, speaksInTime && silence > interval*3/2:
		st.Status = fleet.SourceStale
	default:
		st.Status = fleet.SourceLive
	}
	if !failing {
		st.LastError = ""
		if st.Status == fleet.SourceStale || st.Status == fleet.SourceDown {
			st.LastError = k.overdue()
		}
	}
}
