package actions

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// sendPatience bounds one call that changes something, readPatience one
	// read-back.
	sendPatience = 30 * time.Second
	readPatience = 15 * time.Second
	// The time between read-backs grows from firstPause to longestPause.
	firstPause   = 300 * time.Millisecond
	longestPause = 3 * time.Second
	// settle is how long the read-back of a call that failed is watched: it may
	// have arrived all the same.
	settle = 10 * time.Second
)

var (
	// errTimeUp ends a run whose plan's Timeout is over.
	errTimeUp = errors.New("time is up")
	// errGraceOver ends a step that only gives time.
	errGraceOver = errors.New("grace is over")
)

// attempt records the step, sends it, and reads it back.
func (r *run) attempt(ctx context.Context, s *Step) StepResult {
	gate := r.e.gates[s.Target.Cluster]
	if gate.enter(ctx) != nil {
		return StepResult{Result: NotTried, Detail: "not begun: " + stopped(ctx)}
	}
	r.journal.intent(s.N, r.e.opts.Now())
	if err := r.e.opts.Auditor.Record(r.entry(s, PhaseBefore)); err != nil {
		gate.leave()
		return StepResult{Result: Refused, Detail: "nothing was sent, because it cannot be recorded: " + err.Error()}
	}
	r.out.push(Event{Plan: r.plan.ID, Started: s})
	err := r.send(ctx, s)
	gate.leave()
	switch {
	case err == nil && s.Grace > 0:
		return r.grace(ctx, s)
	case err == nil:
		return r.watch(ctx, s)
	case errors.Is(err, ErrRefused):
		after, _ := r.check(ctx, s) // only to say how it stands; the answer was no
		return StepResult{Result: Refused, Detail: err.Error(), After: after.State}
	case errors.Is(err, ErrFailed):
		after, _ := r.check(ctx, s) // as above
		return StepResult{Result: Failed, Detail: err.Error(), After: after.State}
	}
	return r.settle(ctx, s, err)
}

// send does the step. A run that is stopped meanwhile lets the call finish, since
// half a call is worse than one that is not waited for.
func (r *run) send(ctx context.Context, s *Step) error {
	if s.WaitOnly {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(sendPatience, s.Patience))
	defer cancel()
	return r.e.opts.Backends[s.Target.Cluster].Do(ctx, *s)
}

// grace gives the time that the step is about.
func (r *run) grace(ctx context.Context, s *Step) StepResult {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Grace, errGraceOver)
	defer cancel()
	res := r.watch(ctx, s)
	if res.Result == NotVerified && errors.Is(context.Cause(ctx), errGraceOver) {
		res.Result = Verified
	}
	return res
}

// settle watches for a while whether a call that failed arrived nevertheless.
func (r *run) settle(ctx context.Context, s *Step, sendErr error) StepResult {
	ctx, cancel := context.WithTimeoutCause(ctx, settle, errTimeUp)
	defer cancel()
	res := r.watch(ctx, s)
	if res.Result == Verified {
		res.Detail = fmt.Sprintf("%s (although the call failed: %v)", res.Detail, sendErr)
		return res
	}
	res.Result = Failed
	res.Detail = fmt.Sprintf("%v; read back: %s", sendErr, res.Detail)
	return res
}

// watch reads back until the step is shown to hold, cannot hold any more, or ctx
// ends.
func (r *run) watch(ctx context.Context, s *Step) StepResult {
	wanted, streak := 1, 0
	if s.Twice {
		wanted = 2
	}
	pause := firstPause
	last := StepResult{Result: NotVerified, Detail: "not read back"}
	for n := 1; ctx.Err() == nil; n++ {
		reading, err := r.check(ctx, s)
		switch {
		case err != nil && ctx.Err() != nil: // it was us who broke it off
			continue
		case err != nil:
			streak = 0
			last.Detail = "it could not be read back: " + err.Error()
		default:
			streak = nextStreak(streak, reading.Holds)
			last.After, last.Detail = reading.State, reading.State
		}
		if streak >= wanted {
			last.Result = Verified
			return last
		}
		if reading.Never {
			last.Detail = "this cannot come about any more: " + reading.State
			return last
		}
		r.out.push(Event{Plan: r.plan.ID, Waiting: &Wait{N: s.N, State: last.Detail}})
		_ = sleep(ctx, pause) // the loop sees that ctx ended
		pause = min(longestPause, pause*3/2)
	}
	last.Detail = fmt.Sprintf("%s; last seen: %s", stopped(ctx), last.Detail)
	return last
}

// nextStreak counts read-backs in a row that show what is expected.
func nextStreak(streak int, holds bool) int {
	if !holds {
		return 0
	}
	return streak + 1
}

// check reads the step's target back once.
func (r *run) check(ctx context.Context, s *Step) (Reading, error) {
	gate := r.e.gates[s.Target.Cluster]
	if err := gate.enter(ctx); err != nil {
		return Reading{}, err
	}
	defer gate.leave()
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	return r.e.opts.Backends[s.Target.Cluster].Check(ctx, *s)
}

// stopped says why a context ended.
func stopped(ctx context.Context) string {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTimeUp):
		return "time ran out"
	case errors.Is(cause, errGraceOver):
		return "the time given is over"
	}
	return "waiting was stopped"
}
