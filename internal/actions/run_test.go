package actions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/actions/actionstest"
)

// drainOne runs a drain of a1 under the fault, in fake time.
func drainOne(t *testing.T, f actionstest.Fault, check func(t *testing.T, r *rig, res actions.Result, took time.Duration)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.SetFault("a1", f)
		began := time.Now()
		res := result(t, r.run(t, t.Context(), r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{}))
		check(t, r, res, time.Since(began))
	})
}

func wantStep(t *testing.T, res actions.Result, overall, step actions.Outcome, detail string) {
	t.Helper()
	if res.Result != overall || res.Steps[0].Result != step {
		t.Errorf("result %s, step %s (%s); want %s, %s", res.Result, res.Steps[0].Result, res.Steps[0].Detail, overall, step)
	}
	wantContains(t, res.Steps[0].Detail, detail)
}

func TestRunVerifies(t *testing.T) {
	drainOne(t, actionstest.Fault{}, func(t *testing.T, r *rig, res actions.Result, _ time.Duration) {
		wantStep(t, res, actions.Verified, actions.Verified, "it is so")
		if res.Message != "drain a1: verified" || res.Exit() != actions.ExitVerified || res.Steps[0].Before != "as it was" {
			t.Errorf("message %q, exit %d, before %q", res.Message, res.Exit(), res.Steps[0].Before)
		}
		phases := []actions.Phase{}
		for _, e := range r.audit.Entries() {
			phases = append(phases, e.Phase)
			if e.As != "gpuadm" || e.Via != "test" || e.Reason != "test" || e.Cluster != "a" || e.Plan != res.Plan.ID {
				t.Errorf("entry %+v", e)
			}
		}
		want := []actions.Phase{actions.PhaseBefore, actions.PhaseAfter, actions.PhaseDone}
		if !slices.Equal(phases, want) {
			t.Errorf("recorded %v, want %v", phases, want)
		}
		if c := r.audit.Entries()[0].Command; c != "test drain a1" {
			t.Errorf("recorded command %q", c)
		}
	})
}

func TestC32_NoSuccessBeforeItIsReadBack(t *testing.T) {
	drainOne(t, actionstest.Fault{Swallow: true}, func(t *testing.T, r *rig, res actions.Result, took time.Duration) {
		wantStep(t, res, actions.NotVerified, actions.NotVerified, "time ran out; last seen: not so yet")
		if res.Exit() != actions.ExitNotVerified || took < time.Minute || took > 65*time.Second {
			t.Errorf("exit %d after %s", res.Exit(), took)
		}
		if checks := len(r.a.Calls()) - 2; checks > 30 {
			t.Errorf("%d read-backs in a minute are hammering", checks)
		}
	})
}

func TestLateChangeIsVerified(t *testing.T) {
	drainOne(t, actionstest.Fault{Delay: 20 * time.Second}, func(t *testing.T, _ *rig, res actions.Result, took time.Duration) {
		wantStep(t, res, actions.Verified, actions.Verified, "it is so")
		if took < 20*time.Second || took > 24*time.Second || res.Steps[0].TookMS != took.Milliseconds() {
			t.Errorf("took %s, step says %d ms", took, res.Steps[0].TookMS)
		}
	})
}

func TestRefusedByTheScheduler(t *testing.T) {
	no := fmt.Errorf("drain a1: %w: access denied", actions.ErrRefused)
	drainOne(t, actionstest.Fault{Do: no}, func(t *testing.T, r *rig, res actions.Result, took time.Duration) {
		wantStep(t, res, actions.Refused, actions.Refused, "access denied")
		wantContains(t, res.Message, "access denied")
		if res.Exit() != actions.ExitRefused || took > time.Second || res.Steps[0].After != "not so yet" {
			t.Errorf("exit %d after %s, after %q", res.Exit(), took, res.Steps[0].After)
		}
		if last := r.audit.Entries()[1]; last.Phase != actions.PhaseAfter || last.Result != actions.Refused {
			t.Errorf("recorded %+v", last)
		}
	})
}

func TestFailedCallIsReadBackAllTheSame(t *testing.T) {
	broken := fmt.Errorf("drain a1: %w: connection reset", actions.ErrUnreachable)
	drainOne(t, actionstest.Fault{Do: broken}, func(t *testing.T, _ *rig, res actions.Result, took time.Duration) {
		wantStep(t, res, actions.NotVerified, actions.Failed, "connection reset; read back: time ran out; last seen: not so yet")
		if res.Exit() != actions.ExitError || took > 15*time.Second {
			t.Errorf("exit %d after %s", res.Exit(), took)
		}
	})
	drainOne(t, actionstest.Fault{Do: broken, Lost: true}, func(t *testing.T, _ *rig, res actions.Result, _ time.Duration) {
		wantStep(t, res, actions.Verified, actions.Verified, "it is so (although the call failed: drain a1: unreachable: connection reset)")
	})
}

func TestHangingCallsEnd(t *testing.T) {
	drainOne(t, actionstest.Fault{Slow: time.Hour}, func(t *testing.T, _ *rig, res actions.Result, took time.Duration) {
		wantStep(t, res, actions.NotVerified, actions.Failed, "deadline exceeded")
		if took > time.Minute {
			t.Errorf("took %s", took)
		}
	})
}

func TestReadBackErrorsAreNoProof(t *testing.T) {
	drainOne(t, actionstest.Fault{Read: errors.New("no route to host")}, func(t *testing.T, _ *rig, res actions.Result, _ time.Duration) {
		wantStep(t, res, actions.NotVerified, actions.NotVerified, "it could not be read back: no route to host")
	})
}

func TestNeverEndsTheWait(t *testing.T) {
	drainOne(t, actionstest.Fault{Swallow: true, Never: true}, func(t *testing.T, _ *rig, res actions.Result, took time.Duration) {
		wantStep(t, res, actions.NotVerified, actions.NotVerified, "this cannot come about any more: not so yet")
		if took > time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestC95_DrainedIsReadTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.Wait = true
		// Once is a node between two jobs; the second read-back must agree.
		r.a.SetFault("wait a1", actionstest.Fault{Script: []bool{true, false, true, true}})
		events := r.run(t, t.Context(), r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{})
		waits := 0
		for _, ev := range events {
			if ev.Waiting != nil && ev.Waiting.N == 2 {
				waits++
			}
		}
		if res := result(t, events); res.Result != actions.Verified || waits != 3 {
			t.Errorf("result %s after %d unsure read-backs, want 3", res.Result, waits)
		}
		if sent := r.a.Sent(); !slices.Equal(sent, []string{"a1"}) {
			t.Errorf("a step that only waits sent something: %v", sent)
		}
	})
}

func TestStepIsNotTriedWhenItsNeedFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.Wait = true
		r.a.SetFault("a1", actionstest.Fault{Do: actions.ErrRefused})
		p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1", "a2")...)
		res := result(t, r.run(t, t.Context(), p, actions.Confirmation{}))
		var got []actions.Outcome
		for _, s := range res.Steps {
			got = append(got, s.Result)
		}
		want := []actions.Outcome{actions.Refused, actions.NotTried, actions.Verified, actions.Verified}
		if !slices.Equal(got, want) || res.Result != actions.NotVerified || res.Exit() != actions.ExitNotVerified {
			t.Errorf("steps %v, result %s; want %v", got, res.Result, want)
		}
		wantContains(t, res.Steps[1].Detail, "it needs step drain a1, which is refused")
		wantContains(t, res.Message, "drain 2 nodes: 2 of 4 steps verified; drain a1 is refused")
	})
}

func TestTargetLeftOutIsNotSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.SetFault("a1", actionstest.Fault{Refuse: "it is on fire"})
		p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1", "a2")...)
		res := result(t, r.run(t, t.Context(), p, actions.Confirmation{}))
		if res.Result != actions.NotVerified {
			t.Errorf("result %s", res.Result)
		}
		wantContains(t, res.Message, "a1 was left out (it is on fire)")
	})
}

func TestGraceStepGivesTime(t *testing.T) {
	for name, c := range map[string]struct {
		leaves time.Duration
		want   time.Duration
		detail string
	}{
		"job leaves by itself": {20 * time.Second, 20 * time.Second, "it is so"},
		"job stays":            {time.Hour, 2 * time.Minute, "the time given is over"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.a.Wait = true
				r.a.SetFault("wait a1", actionstest.Fault{Delay: c.leaves})
				p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
				p.Steps[1].Grace, p.Timeout = 2*time.Minute, 10*time.Minute
				began := time.Now()
				res := result(t, r.run(t, t.Context(), p, actions.Confirmation{}))
				took := time.Since(began)
				if res.Steps[1].Result != actions.Verified || took < c.want || took > c.want+7*time.Second {
					t.Errorf("%s after %s", res.Steps[1].Result, took)
				}
				wantContains(t, res.Steps[1].Detail, c.detail)
			})
		})
	}
}

func TestLongWaitKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.Wait = true
		var names []string
		for i := range 10 { // more than there are slots
			names = append(names, fmt.Sprintf("a%d", i+1))
			r.a.SetFault("wait "+names[i], actionstest.Fault{Delay: time.Hour})
		}
		p := r.plan(t, actions.Drain, actionstest.Nodes("a", names...)...)
		p.Timeout = 2 * time.Hour
		events, err := r.engine.Run(t.Context(), p, actions.Confirmation{Word: "a"})
		if err != nil {
			t.Fatal(err)
		}
		other := result(t, r.run(t, t.Context(), r.plan(t, actions.Drain, actionstest.Nodes("a", "a11")...),
			actions.Confirmation{}))
		if other.Result != actions.Verified {
			t.Errorf("beside ten long waits: %+v", other.Steps)
		}
		for ev := range events {
			if ev.Done != nil && ev.Done.Result != actions.Verified {
				t.Errorf("the long wait: %s", ev.Done.Message)
			}
		}
	})
}

func TestCallsAreSpacedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprintf("a%d", i+1))
		}
		began := time.Now()
		res := result(t, r.run(t, t.Context(), r.plan(t, actions.Drain, actionstest.Nodes("a", names...)...), actions.Confirmation{Word: "a"}))
		calls := len(r.a.Calls()) - 1
		if per := time.Since(began) / time.Duration(calls); res.Result != actions.Verified || per < 90*time.Millisecond {
			t.Errorf("result %s, a call every %s", res.Result, per)
		}
	})
}

func TestRefreshOncePerClusterAndKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fresh := make(chan string, 10)
		r := newRig(t, func(o *actions.EngineOptions) { o.Refresh = func(c string) { fresh <- c } })
		targets := append(actionstest.Nodes("a", "a1", "a2", "a3"), actionstest.Nodes("b", "b1")...)
		r.run(t, t.Context(), r.plan(t, actions.Drain, targets...), actions.Confirmation{Yes: true})
		close(fresh)
		var got []string
		for c := range fresh {
			got = append(got, c)
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("refreshed %v", got)
		}
	})
}

func TestCancelStopsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.Wait = true
		r.a.SetFault("wait a1", actionstest.Fault{Delay: time.Hour})
		r.a.SetFault("a2", actionstest.Fault{Slow: 5 * time.Second})
		p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1", "a2")...)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		began := time.Now()
		res := result(t, r.run(t, ctx, p, actions.Confirmation{}))
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("took %s", took)
		}
		if res.Result != actions.NotVerified {
			t.Errorf("result %s", res.Result)
		}
		wantContains(t, res.Steps[1].Detail, "waiting was stopped; last seen: not so yet")
		// The call that was under way was let finish, and says so.
		if s := res.Steps[2]; s.Result != actions.NotVerified || s.Detail != "waiting was stopped; last seen: not read back" {
			t.Errorf("the call under way: %s (%s)", s.Result, s.Detail)
		}
		if res.Steps[3].Result != actions.NotTried {
			t.Errorf("the step after it: %s", res.Steps[3].Result)
		}
		if runs, err := actions.OpenRuns(r.dir); err != nil || len(runs) > 0 {
			t.Errorf("a stopped run is no killed run: %v, %v", runs, err)
		}
		after := 0
		for _, e := range r.audit.Entries() {
			if e.Phase == actions.PhaseAfter {
				after++
			}
		}
		if after != 4 {
			t.Errorf("%d of 4 steps have their end recorded", after)
		}
	})
}

func TestCancelledBeforeItBeganSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		res := result(t, r.run(t, ctx, r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{}))
		if res.Result != actions.Refused || len(r.a.Sent()) > 0 {
			t.Errorf("result %s, sent %v", res.Result, r.a.Sent())
		}
		wantContains(t, res.Message, "not begun: waiting was stopped")
	})
}

// A reader that went away after ending ctx leaves nothing running: synctest fails
// when a goroutine outlives the bubble.
func TestReaderThatGoesAwayLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.SetFault("a1", actionstest.Fault{Swallow: true})
		ctx, cancel := context.WithCancel(t.Context())
		events, err := r.engine.Run(ctx, r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{})
		if err != nil {
			t.Fatal(err)
		}
		<-events
		cancel()
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, ok := <-events; ok {
			t.Error("the channel is still open")
		}
	})
}

func TestSlowReaderGetsEveryEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.SetFault("a1", actionstest.Fault{Swallow: true})
		events, err := r.engine.Run(t.Context(), r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // the run is long over
		var waits int
		var last actions.Event
		for ev := range events {
			if ev.Waiting != nil {
				waits++
			}
			last = ev
		}
		checks := len(r.a.Calls()) - 2
		if last.Done == nil || waits != checks {
			t.Errorf("%d of %d read-backs arrived, last event %+v", waits, checks, last)
		}
	})
}

func TestEventsComeInOrder(t *testing.T) {
	drainEvents := func(t *testing.T) []actions.Event {
		r := newRig(t)
		r.a.SetFault("a1", actionstest.Fault{Delay: time.Second})
		return r.run(t, t.Context(), r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{})
	}
	synctest.Test(t, func(t *testing.T) {
		var kinds []string
		for _, ev := range drainEvents(t) {
			switch {
			case ev.Started != nil:
				kinds = append(kinds, "started")
			case ev.Waiting != nil:
				kinds = append(kinds, "waiting")
			case ev.Finished != nil:
				kinds = append(kinds, "finished")
			case ev.Done != nil:
				kinds = append(kinds, "done")
			}
		}
		want := []string{"started", "waiting", "finished", "done"}
		if !slices.Equal(slices.Compact(kinds), want) {
			t.Errorf("events %v", kinds)
		}
	})
}

func TestAuditThatBreaksInTheMiddleStopsTheSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.SetFault("a1", actionstest.Fault{Delay: time.Second})
		p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1", "a2")...)
		p.Steps[1].Needs = []int{1}
		events, err := r.engine.Run(t.Context(), p, actions.Confirmation{})
		if err != nil {
			t.Fatal(err)
		}
		var res actions.Result
		for ev := range events {
			switch {
			case ev.Started != nil:
				r.audit.Fail(errors.New("disk full"))
			case ev.Done != nil:
				res = *ev.Done
			}
		}
		if sent := r.a.Sent(); !slices.Equal(sent, []string{"a1"}) {
			t.Errorf("sent %v without a record", sent)
		}
		wantContains(t, res.Steps[0].Detail, "it could not be recorded: disk full")
		if res.Steps[1].Result != actions.Refused || res.Result != actions.NotVerified {
			t.Errorf("the second step is %s, the run %s", res.Steps[1].Result, res.Result)
		}
	})
}
