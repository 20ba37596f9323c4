package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

func detail(j *fleet.Job) slurm.JobDetail { return slurm.JobDetail{Job: *j} }

// Every step that the plans make can be carried out and read back.
func TestEveryOperationIsKnown(t *testing.T) {
	for _, op := range []string{opDrain, opResumeNode, opHold, opRelease, opExclude, opRequeue, opStartNow, opCancel, opSignal, opSuspend, opResume, opPriority, opTimeLimit, opPartition} {
		if _, ok := calls[op]; !ok {
			t.Errorf("%s cannot be sent", op)
		}
	}
	for _, op := range []string{opDrain, opDrained, opResumeNode, opHold, opRelease, opExclude, opRequeue, opStartNow, opCancel, opSignal, opGrace, opStarted, opSuspend, opResume, opPriority, opTimeLimit, opPartition} {
		if nodeTests[op] == nil && jobTests[op] == nil {
			t.Errorf("%s cannot be read back", op)
		}
	}
}

func TestC95_DrainedMeansNothingAllocatedOrCompleting(t *testing.T) {
	h := newHarness(t, fleet.RoleAdministrator)
	step := actions.Step{Op: opDrained, Target: actions.Target{Name: "gn1"}}
	for _, c := range []struct {
		base  string
		flags []string
		holds bool
		never bool
	}{
		{"MIXED", []string{"DRAIN"}, false, false},
		{"ALLOCATED", []string{"DRAIN"}, false, false},
		{"IDLE", []string{"DRAIN", "COMPLETING"}, false, false},
		{"IDLE", []string{"DRAIN"}, true, false},
		{"IDLE", nil, false, true},
	} {
		h.fake.node = fleet.View{Base: c.base, Flags: c.flags}
		r, err := h.b.Check(t.Context(), step)
		if err != nil || r.Holds != c.holds || r.Never != c.never {
			t.Errorf("%s+%v: %+v, %v", c.base, c.flags, r, err)
		}
	}
}

func TestRequeueIsNeverSentTwice(t *testing.T) {
	h := newHarness(t, fleet.RoleOperator, job("1", fleet.JobRunning))
	step := h.plan(actions.Requeue, actions.Options{}, "1").Steps[0]
	h.fake.jobs = []slurm.JobDetail{detail(job("1", fleet.JobRunning))}
	if err := h.b.Do(t.Context(), step); err != nil || !slices.Equal(h.fake.sent, []string{"requeue 1 false"}) {
		t.Fatalf("sent %v, %v", h.fake.sent, err)
	}
	h.fake.jobs = []slurm.JobDetail{detail(job("1", fleet.JobPending, func(j *fleet.Job) { j.Restarts = 1 }))}
	if err := h.b.Do(t.Context(), step); err != nil || len(h.fake.sent) != 1 {
		t.Fatalf("sent again: %v, %v", h.fake.sent, err)
	}
}

// A job that starts in the second in which it was killed is lost.
func TestRequeuedJobIsNotStartedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, fleet.RoleOperator, job("1", fleet.JobRunning), job("2", fleet.JobPending, because("JobHeldUser")))
		began := time.Now()
		step := h.plan(actions.Requeue, actions.Options{Now: true}, "1").Steps[1]
		if err := h.b.Do(t.Context(), step); err != nil || time.Since(began) != restartPause || len(h.fake.sent) != 1 {
			t.Errorf("sent %v after %s, %v", h.fake.sent, time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.b.Do(ctx, step); err == nil || len(h.fake.sent) != 1 {
			t.Errorf("sent %v, %v", h.fake.sent, err)
		}
		h.fake.sent, began = nil, time.Now()
		step = h.plan(actions.Release, actions.Options{Now: true}, "2").Steps[1]
		if err := h.b.Do(t.Context(), step); err != nil || time.Since(began) != 0 {
			t.Errorf("a job that was only held need not wait: %s, %v", time.Since(began), err)
		}
	})
}

func TestRequeueHoldsOnlyOnceTheJobHasLeft(t *testing.T) {
	h := newHarness(t, fleet.RoleOperator, job("1", fleet.JobRunning))
	step := h.plan(actions.Requeue, actions.Options{}, "1").Steps[0]
	for _, c := range []struct {
		job   *fleet.Job
		holds bool
	}{
		{job("1", fleet.JobRunning), false},
		{job("1", fleet.JobPending, func(j *fleet.Job) { j.Restarts, j.Flags = 1, []string{"COMPLETING"} }), false},
		{job("1", fleet.JobPending, because("BeginTime"), func(j *fleet.Job) { j.Restarts = 1 }), true},
		{job("1", fleet.JobCancelled), false},
	} {
		h.fake.jobs = []slurm.JobDetail{detail(c.job)}
		if r, err := h.b.Check(t.Context(), step); err != nil || r.Holds != c.holds {
			t.Errorf("%s: %+v, %v", jobState(c.job), r, err)
		}
	}
}

func TestCancelledJobThatIsGoneCounts(t *testing.T) {
	h := newHarness(t, fleet.RoleOperator, job("1", fleet.JobRunning))
	step := h.plan(actions.Cancel, actions.Options{}, "1").Steps[0]
	if r, err := h.b.Check(t.Context(), step); err != nil || !r.Holds {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestErrorsAreClassed(t *testing.T) {
	h := newHarness(t, fleet.RoleAdministrator)
	step := h.plan(actions.Drain, actions.Options{Reason: "x"}, "gn1").Steps[0]
	for err, want := range map[error]error{
		slurm.ErrDenied: actions.ErrRefused, slurm.ErrState: actions.ErrRefused, slurm.ErrAuth: actions.ErrRefused,
		slurm.ErrUnreachable: actions.ErrUnreachable, slurm.ErrBusy: actions.ErrUnreachable,
	} {
		h.fake.err = fmt.Errorf("drain gn1: %w", err)
		if got := h.b.Do(t.Context(), step); !errors.Is(got, want) || !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	if err := h.b.Do(t.Context(), actions.Step{Op: "from-the-future"}); !errors.Is(err, actions.ErrRefused) {
		t.Errorf("unknown step: %v", err)
	}
}

// Two people who do the same at once both get what they wanted.
func TestC32_SomebodyElseWasFirst(t *testing.T) {
	state := fmt.Errorf("slurm_update error: %w", slurm.ErrState)
	h := newHarness(t, fleet.RoleAdministrator)
	undrain := h.plan(actions.Undrain, actions.Options{}, "gn3").Steps[0]
	h.fake.err = state
	for _, c := range []struct {
		base, flag string
		refused    bool
	}{{"IDLE", "", false}, {"IDLE", fleet.FlagNotResponding, false}, {"IDLE", fleet.FlagDrain, true}, {"DOWN", "", true}} {
		h.fake.node = fleet.View{Cluster: "lab", Node: "gn3", Base: c.base, Flags: []string{c.flag}}
		if err := h.b.Do(t.Context(), undrain); errors.Is(err, actions.ErrRefused) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
	h = newHarness(t, fleet.RoleOperator, job("1", fleet.JobRunning))
	signal := h.plan(actions.Cancel, actions.Options{Signal: "USR1"}, "1").Steps[0]
	suspend := h.plan(actions.Suspend, actions.Options{}, "1").Steps[0]
	h.fake.err = state
	h.fake.jobs = []slurm.JobDetail{detail(job("1", fleet.JobSuspended))}
	if err := h.b.Do(t.Context(), suspend); err != nil {
		t.Errorf("suspended by somebody else: %v", err)
	}
	if err := h.b.Do(t.Context(), signal); !errors.Is(err, actions.ErrRefused) {
		t.Errorf("a signal that was refused: %v", err)
	}
}

func TestExcludedNodesAreComparedAsSets(t *testing.T) {
	j := job("1", fleet.JobPending, func(j *fleet.Job) { j.ExcNodes = "gn[1-3]" })
	if !excludes(j, actions.Step{Args: map[string]string{"nodes": "gn[3,1]"}}) {
		t.Error("gn[1-3] has gn3 and gn1")
	}
	if excludes(j, actions.Step{Args: map[string]string{"nodes": "gn4"}}) {
		t.Error("gn[1-3] has no gn4")
	}
}
