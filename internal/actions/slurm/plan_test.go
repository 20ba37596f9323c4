package slurm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

func TestDrainPlansTheDrainAndTheWait(t *testing.T) {
	h := newHarness(t, fleet.RoleAdministrator, job("4711", fleet.JobRunning))
	p := h.plan(actions.Drain, actions.Options{Reason: "XID 79\non GPU 3", Ticket: "OPS-1"}, "gn1")
	h.wantClear(p)
	if got := ops(p); got != "drain drained" {
		t.Errorf("steps: %s", got)
	}
	if got := p.Steps[0].Args["reason"]; got != "gpuctl:carol: XID 79 on GPU 3 [OPS-1]" {
		t.Errorf("reason %q", got)
	}
	if !p.Steps[1].Twice || !p.Steps[1].WaitOnly {
		t.Error("the wait must only read, and twice")
	}
	if !strings.Contains(p.Impact.Note, "4711") || len(p.Impact.Jobs) != 0 {
		t.Errorf("impact: %+v: a drain stops nothing, and says what stays", p.Impact)
	}
	if p.Inverse == nil || p.Inverse.Verb != actions.Undrain {
		t.Errorf("inverse: %+v", p.Inverse)
	}
}

func TestDrainOfDrainedAndDraining(t *testing.T) {
	h := newHarness(t, fleet.RoleAdministrator)
	p := h.plan(actions.Drain, actions.Options{Reason: "x"}, "gn3", "gn4")
	h.wantClear(p)
	if p.Targets[0].Fate != actions.FateSkip || ops(p) != "drained" {
		t.Errorf("targets %+v, steps %s: the drained one is left, the draining one only watched", p.Targets, ops(p))
	}
	if p.Inverse != nil {
		t.Error("somebody else's drain is not ours to undo")
	}
}

func TestDrainRefusals(t *testing.T) {
	h := newHarness(t, fleet.RoleOperator)
	p := h.plan(actions.Drain, actions.Options{}, "gn1", "gn9")
	h.wantBlocked(p, actions.BlockInput, "--reason")
	h.wantBlocked(p, actions.BlockRight, "AdminLevel=Administrator")
	h.wantBlocked(p, actions.BlockTarget, "gn9")

	h = newHarness(t, fleet.RoleAdministrator)
	h.fake.cant = map[slurm.Op]error{slurm.OpUpdateNode: fmt.Errorf("v0.0.38 cannot change a node: %w", slurm.ErrUnsupported)}
	h.wantBlocked(h.plan(actions.Drain, actions.Options{Reason: "x"}, "gn1"), actions.BlockVersion, "v0.0.38")
}

// A reason is what people read on one line, whatever was pasted into it.
func TestC10_ReasonOfAnything(t *testing.T) {
	h := newHarness(t, fleet.RoleAdministrator)
	p := h.plan(actions.Drain, actions.Options{Reason: "a\r\nb\x1b]0;t\x07\u202ec\xffd\u009be \"q\" \\ ünï 日本\t", Ticket: "T\n1"}, "gn1")
	h.wantClear(p)
	if got := p.Steps[0].Args["reason"]; got != "gpuctl:carol: a b ]0;t c d e \"q\" \\ ünï 日本 [T 1]" {
		t.Errorf("reason %q", got)
	}
	h.wantBlocked(h.plan(actions.Drain, actions.Options{Reason: "\x1b\u202e\n \xff"}, "gn1"), actions.BlockInput, "--reason")
	h.wantBlocked(h.plan(actions.Drain, actions.Options{Reason: strings.Repeat("r", 200_000)}, "gn1"), actions.BlockInput, "200000 bytes")
	h.wantClear(h.plan(actions.Drain, actions.Options{Reason: strings.Repeat("r", 10_000)}, "gn1"))
}

func TestC112_DrainNamesTheHealthCheckThatMayUndoIt(t *testing.T) {
	h := newHarness(t, fleet.RoleAdministrator)
	h.fake.hello.Config["HealthCheckProgram"] = "/usr/sbin/nhc"
	if p := h.plan(actions.Drain, actions.Options{Reason: "x"}, "gn1"); len(p.UndoneBy) != 1 || !strings.Contains(p.UndoneBy[0], "nhc") {
		t.Errorf("undone by %v", p.UndoneBy)
	}
}

func TestC55_UndrainWarnsOfAnUnkillableStep(t *testing.T) {
	h := newHarness(t, fleet.RoleAdministrator)
	h.snap.Node("gn3").Views[0].Reason = fleet.Reason{Text: "Kill task failed", Author: "root"}
	p := h.plan(actions.Undrain, actions.Options{}, "gn3", "gn2")
	if len(p.Warnings) == 0 || !strings.Contains(p.Warnings[0], "could not be killed") {
		t.Errorf("warnings %v", p.Warnings)
	}
	if p.Targets[1].Fate != actions.FateSkip || ops(p) != "resume-node" {
		t.Errorf("a node that is not drained is skipped: %+v", p.Targets)
	}
}

func TestHoldAndRelease(t *testing.T) {
	h := newHarness(t, fleet.RoleOperator,
		job("1", fleet.JobPending, because("Resources")), job("2", fleet.JobPending, because("JobHeldAdmin")), job("3", fleet.JobRunning))
	h.fake.jobs = []slurm.JobDetail{detail(job("2", fleet.JobPending))}
	if p := h.plan(actions.Hold, actions.Options{}, "1", "2"); ops(p) != "hold" || p.Targets[1].Fate != actions.FateSkip {
		t.Errorf("%s %+v", ops(p), p.Targets)
	}
	h.wantBlocked(h.plan(actions.Hold, actions.Options{}, "3"), actions.BlockTarget, "would not stop it")
	if p := h.plan(actions.Release, actions.Options{Now: true, Exclude: []string{"gn1"}}, "2"); ops(p) != "exclude release start-now" {
		t.Errorf("release: %s", ops(p))
	}
	h.wantBlocked(h.plan(actions.Release, actions.Options{}, "3"), actions.BlockTarget, "nothing to release")
}

func TestC23_ReleaseAfterFailedLaunchNamesTheNode(t *testing.T) {
	h := newHarness(t, fleet.RoleOperator, job("5", fleet.JobPending, because("launch_failed_requeued_held"), func(j *fleet.Job) { j.BatchHost = "gn2" }))
	p := h.plan(actions.Release, actions.Options{}, "5")
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "--exclude gn2") {
		t.Errorf("warnings %v", p.Warnings)
	}
}

func TestOthersJobsNeedAnOperator(t *testing.T) {
	h := newHarness(t, fleet.RoleUser, job("1", fleet.JobRunning))
	for _, v := range []actions.Verb{actions.Requeue, actions.Cancel, actions.Preempt, actions.Hold, actions.Suspend, actions.Update} {
		h.wantBlocked(h.plan(v, actions.Options{TimeLimit: "30"}, "1"), actions.BlockRight, "AdminLevel=Operator")
	}
}

func TestRequeue(t *testing.T) {
	h := newHarness(t, fleet.RoleOperator, job("1", fleet.JobRunning), job("2", fleet.JobPending),
		job("3", fleet.JobRunning, func(j *fleet.Job) { j.Requeue = false }))
	h.fake.jobs = []slurm.JobDetail{detail(job("1", fleet.JobRunning))}
	p := h.plan(actions.Requeue, actions.Options{}, "1")
	h.wantClear(p)
	if ops(p) != "requeue" || p.Impact.GPUs != 8 || p.Impact.GPUHours != 16 {
		t.Errorf("%s %+v", ops(p), p.Impact)
	}
	if !strings.Contains(strings.Join(p.Warnings, " "), "two minutes") {
		t.Errorf("it must say that Slurm holds the job back: %v", p.Warnings)
	}
	if got := ops(h.plan(actions.Requeue, actions.Options{Now: true, Exclude: []string{"gn1"}}, "1")); got != "requeue exclude release start-now" {
		t.Errorf("with exclude: %s", got)
	}
	h.wantBlocked(h.plan(actions.Requeue, actions.Options{}, "2"), actions.BlockTarget, "waits already")
	h.wantBlocked(h.plan(actions.Requeue, actions.Options{}, "3"), actions.BlockTarget, "--no-requeue")
}

func TestC22_ArrayTasksAreNamedExactly(t *testing.T) {
	rest := job("8_*", fleet.JobPending, func(j *fleet.Job) {
		j.ID, j.Array = "8_[4-7%2]", &fleet.ArrayRef{JobID: 8, Task: -1, Tasks: "4-7", Count: 4, Limit: 2}
	})
	last := job("8_3", fleet.JobRunning, func(j *fleet.Job) { j.RawID, j.Array = 8, &fleet.ArrayRef{JobID: 8, Task: 3, Count: 1} })
	h := newHarness(t, fleet.RoleOperator, rest, last)
	if p := h.plan(actions.Cancel, actions.Options{}, "8_3"); p.Steps[0].Args["id"] != "8_3" || len(p.Steps) != 1 {
		t.Errorf("one task: %+v", p.Steps)
	}
	one := actions.Target{Kind: fleet.KindJob, Cluster: "lab", Name: "8_5", Job: rest.Key}
	if p, err := h.b.Plan(t.Context(), h.snap, actions.Request{Verb: actions.Cancel, Targets: []actions.Target{one}}); err != nil || p.Steps[0].Args["id"] != "8_5" {
		t.Errorf("one waiting task: %+v %v", p, err)
	}
	p := h.plan(actions.Cancel, actions.Options{}, "8_[4-7%2]")
	if p.Steps[0].Args["id"] != "8_[4-7]" || !strings.Contains(p.Targets[0].Why, "4 waiting tasks") {
		t.Errorf("the rest: %+v %+v", p.Steps, p.Targets)
	}
}

func TestCancelSignals(t *testing.T) {
	h := newHarness(t, fleet.RoleOperator, job("1", fleet.JobRunning), job("2", fleet.JobPending), job("3", fleet.JobCompleted))
	if p := h.plan(actions.Cancel, actions.Options{Signal: "SIGUSR1"}, "1"); ops(p) != "signal" || len(p.Impact.Jobs) != 0 {
		t.Errorf("%s %+v", ops(p), p.Impact)
	}
	h.wantBlocked(h.plan(actions.Cancel, actions.Options{Signal: "USR1"}, "2"), actions.BlockTarget, "no process")
	h.wantBlocked(h.plan(actions.Cancel, actions.Options{Signal: "BOOM"}, "1"), actions.BlockInput, "BOOM")
	if p := h.plan(actions.Cancel, actions.Options{}, "3"); p.Targets[0].Fate != actions.FateSkip {
		t.Errorf("%+v", p.Targets)
	}
}

func TestPreemptForAnotherJob(t *testing.T) {
	big := job("9", fleet.JobPending, because("Resources"), func(j *fleet.Job) { j.GPUs.Wanted = 64 })
	h := newHarness(t, fleet.RoleOperator, job("1", fleet.JobRunning), big, job("5", fleet.JobPending, because("JobHeldUser")))
	p := h.plan(actions.Preempt, actions.Options{Signal: "USR1", For: "9"}, "1")
	h.wantClear(p)
	if ops(p) != "signal grace requeue started" {
		t.Errorf("steps %s", ops(p))
	}
	if last := p.Steps[3]; last.Target.Name != "9" || len(last.Needs) != 3 {
		t.Errorf("the last step watches the heir: %+v", last)
	}
	if !strings.Contains(strings.Join(p.Warnings, " "), "may still not fit") {
		t.Errorf("8 freed and 8 free are not 64: %v", p.Warnings)
	}
	h.wantBlocked(h.plan(actions.Preempt, actions.Options{For: "5"}, "1"), actions.BlockTarget, "held")
	h.wantBlocked(h.plan(actions.Preempt, actions.Options{For: "404"}, "1"), actions.BlockTarget, "404")
	h.wantBlocked(h.plan(actions.Preempt, actions.Options{}, "9"), actions.BlockTarget, "does not run")
}

func TestUpdate(t *testing.T) {
	h := newHarness(t, fleet.RoleOperator, job("1", fleet.JobRunning), job("2", fleet.JobPending, func(j *fleet.Job) { j.Priority = 5 }))
	h.fake.jobs = []slurm.JobDetail{detail(job("2", fleet.JobPending, func(j *fleet.Job) { j.ExcNodes = "gn3" }))}
	p := h.plan(actions.Update, actions.Options{TimeLimit: "+60"}, "1")
	if ops(p) != "time-limit" || p.Steps[0].Args["want"] != "0-02:00:00" || p.Inverse.Options.TimeLimit != "0-01:00:00" {
		t.Errorf("%+v inverse %+v", p.Steps, p.Inverse)
	}
	if got := h.plan(actions.Update, actions.Options{Exclude: []string{"gn1"}}, "2").Steps[0].Args["nodes"]; got != "gn[1,3]" {
		t.Errorf("exclude adds to what was excluded: %q", got)
	}
	h.wantBlocked(h.plan(actions.Update, actions.Options{Partition: "high"}, "1"), actions.BlockTarget, "runs")
	h.wantBlocked(h.plan(actions.Update, actions.Options{Partition: "nosuch"}, "2"), actions.BlockInput, "nosuch")
	h.wantBlocked(h.plan(actions.Update, actions.Options{TimeLimit: "soon"}, "2"), actions.BlockInput, "soon")
	h.wantBlocked(h.plan(actions.Update, actions.Options{}, "2"), actions.BlockInput, "nothing to change")
	h.wantBlocked(h.plan(actions.Update, actions.Options{Exclude: []string{"gn77"}}, "2"), actions.BlockInput, "gn77")
}
