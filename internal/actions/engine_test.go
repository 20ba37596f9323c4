package actions_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/actions/actionstest"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// rig is an engine on two clusters, "a" with 20 nodes and "b" with 4.
type rig struct {
	engine *actions.Engine
	a, b   *actionstest.Backend
	audit  *actionstest.Auditor
	snap   *fleet.Snapshot
	dir    string // of the journal
}

func newRig(t *testing.T, change ...func(*actions.EngineOptions)) *rig {
	t.Helper()
	r := &rig{
		a:     &actionstest.Backend{Cluster: "a", User: "gpuadm"},
		b:     &actionstest.Backend{Cluster: "b", User: "gpuop"},
		audit: &actionstest.Auditor{},
		snap:  actionstest.Snapshot(map[string]int{"a": 20, "b": 4}),
		dir:   filepath.Join(t.TempDir(), "state"),
	}
	opts := actions.EngineOptions{
		Backends: map[string]actions.Backend{"a": r.a, "b": r.b},
		Snapshot: func() *fleet.Snapshot { return r.snap },
		Journal:  actions.NewJournal(r.dir),
		Auditor:  r.audit,
		Policy: actions.Policy{Clusters: map[string]actions.ClusterPolicy{
			"a": {Guard: actions.GuardNone}, "b": {Guard: actions.GuardNone},
		}},
	}
	for _, c := range change {
		c(&opts)
	}
	r.engine = actions.NewEngine(opts)
	return r
}

func (r *rig) plan(t *testing.T, verb actions.Verb, targets ...actions.Target) *actions.Plan {
	t.Helper()
	p, err := r.engine.Plan(t.Context(), actions.Request{Verb: verb, Targets: targets, Options: actions.Options{Reason: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs the plan to its end and returns all its events.
func (r *rig) run(t *testing.T, ctx context.Context, p *actions.Plan, c actions.Confirmation) []actions.Event {
	t.Helper()
	events, err := r.engine.Run(ctx, p, c)
	if err != nil {
		t.Fatal(err)
	}
	var all []actions.Event
	for ev := range events {
		all = append(all, ev)
	}
	return all
}

// result is the result that the events end with.
func result(t *testing.T, events []actions.Event) actions.Result {
	t.Helper()
	if len(events) == 0 || events[len(events)-1].Done == nil {
		t.Fatalf("events do not end with Done: %+v", events)
	}
	return *events[len(events)-1].Done
}

// refused runs the plan and wants a refusal of that code, with nothing sent.
func (r *rig) refused(t *testing.T, p *actions.Plan, c actions.Confirmation, code actions.BlockCode) *actions.Refusal {
	t.Helper()
	events, err := r.engine.Run(t.Context(), p, c)
	var refusal *actions.Refusal
	if events != nil || !errors.As(err, &refusal) || !errors.Is(err, actions.ErrRefused) {
		t.Fatalf("want a refusal, got events %v, error %v", events != nil, err)
	}
	if !has(refusal.Blockers, code) {
		t.Fatalf("want blocker %s, got %v", code, refusal)
	}
	if sent := append(r.a.Sent(), r.b.Sent()...); len(sent) > 0 {
		t.Fatalf("refused, yet sent to %v", sent)
	}
	return refusal
}

func has(blockers []actions.Blocker, code actions.BlockCode) bool {
	return slices.ContainsFunc(blockers, func(b actions.Blocker) bool { return b.Code == code })
}

func wantContains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q does not say %q", text, part)
	}
}

func TestPlanChangesNothing(t *testing.T) {
	r := newRig(t)
	r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
	if got := r.a.Calls(); !slices.Equal(got, []string{"plan"}) {
		t.Errorf("planning called %v", got)
	}
	if len(r.audit.Entries()) > 0 {
		t.Errorf("planning recorded %v", r.audit.Entries())
	}
}

func TestPlanMergesClusters(t *testing.T) {
	r := newRig(t)
	r.a.Wait, r.b.Wait = true, true
	r.a.Inverse, r.b.Inverse = actions.Undrain, actions.Undrain
	r.a.Impact = actions.Impact{Nodes: 2, Jobs: []string{"1"}, Users: []string{"alice"}, GPUs: 8, GPUHours: 2, Note: "x"}
	r.b.Impact = actions.Impact{Nodes: 1, Jobs: []string{"2"}, Users: []string{"alice", "bob"}, GPUs: 4, GPUHours: 1, Note: "x"}
	targets := append(actionstest.Nodes("a", "a1", "a2", "a1"), actionstest.Nodes("b", "b1")...)
	p := r.plan(t, actions.Drain, targets...)

	if len(p.Targets) != 3 || len(p.Steps) != 6 || len(p.Clusters) != 2 || p.Seq != 7 {
		t.Fatalf("targets %d, steps %d, clusters %d, snapshot %d", len(p.Targets), len(p.Steps), len(p.Clusters), p.Seq)
	}
	for i, s := range p.Steps {
		if s.N != i+1 {
			t.Errorf("step %d has number %d", i+1, s.N)
		}
		if s.WaitOnly && !slices.Equal(s.Needs, []int{i}) {
			t.Errorf("%s needs %v, want the step before it", s.Name, s.Needs)
		}
	}
	if p.Impact.Nodes != 3 || p.Impact.GPUs != 12 || p.Impact.GPUHours != 3 || p.Impact.Note != "x" ||
		!slices.Equal(p.Impact.Jobs, []string{"1", "2"}) || !slices.Equal(p.Impact.Users, []string{"alice", "bob"}) {
		t.Errorf("impact %+v", p.Impact)
	}
	undo, ok := actions.Undo(p)
	if !ok || undo.Verb != actions.Undrain || len(undo.Targets) != 3 {
		t.Errorf("undo %+v, %v", undo, ok)
	}
}

func TestC97_WhoWillUndoItIsKeptForEveryCluster(t *testing.T) {
	r := newRig(t)
	r.a.UndoneBy, r.b.UndoneBy = []string{"NHC", "slurm-operator"}, []string{"NHC"}
	p := r.plan(t, actions.Drain, append(actionstest.Nodes("a", "a1"), actionstest.Nodes("b", "b1")...)...)
	if !slices.Equal(p.UndoneBy, []string{"NHC", "slurm-operator"}) {
		t.Errorf("undone by %v", p.UndoneBy)
	}
}

func TestPlanWithoutCommonWayBack(t *testing.T) {
	r := newRig(t)
	r.a.Inverse = actions.Undrain
	p := r.plan(t, actions.Drain, append(actionstest.Nodes("a", "a1"), actionstest.Nodes("b", "b1")...)...)
	if _, ok := actions.Undo(p); ok || len(p.Warnings) != 1 {
		t.Errorf("half of a plan has a way back; undo %v, warnings %v", ok, p.Warnings)
	}
}

func TestPlanInputErrors(t *testing.T) {
	r := newRig(t)
	for name, req := range map[string]actions.Request{
		"no target":       {Verb: actions.Drain},
		"unknown verb":    {Verb: "explode", Targets: actionstest.Nodes("a", "a1")},
		"no verb":         {Targets: actionstest.Nodes("a", "a1")},
		"unknown cluster": {Verb: actions.Drain, Targets: actionstest.Nodes("z", "z1")},
		"no name":         {Verb: actions.Drain, Targets: actionstest.Nodes("a", "")},
	} {
		_, err := r.engine.Plan(t.Context(), req)
		if !errors.Is(err, actions.ErrInput) || actions.ErrorExit(err) != actions.ExitUsage {
			t.Errorf("%s: %v, exit %d", name, err, actions.ErrorExit(err))
		}
	}
}

func TestPlanIDsAreUniqueAndSortByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var ids []string
		for range 20 {
			ids = append(ids, r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...).ID)
			time.Sleep(time.Millisecond)
		}
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Errorf("ids %v", ids)
		}
	})
}

func TestPlanErrorOfBackend(t *testing.T) {
	r := newRig(t)
	r.a.PlanErr = errors.New("boom")
	_, err := r.engine.Plan(t.Context(), actions.Request{Verb: actions.Drain, Targets: actionstest.Nodes("a", "a1")})
	if err == nil || actions.ErrorExit(err) != actions.ExitError {
		t.Errorf("error %v, exit %d", err, actions.ErrorExit(err))
	}
}

func TestUnreachableBackendIsASourceBlocker(t *testing.T) {
	r := newRig(t)
	r.a.PlanErr = actions.ErrUnreachable
	p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
	if actions.BlockersExit(p.Blockers) != actions.ExitSource {
		t.Errorf("blockers %v", p.Blockers)
	}
	r.refused(t, p, actions.Confirmation{Yes: true}, actions.BlockSource)
}

func TestReadOnlyRefuses(t *testing.T) {
	everywhere := newRig(t, func(o *actions.EngineOptions) { o.Policy.ReadOnly = "--read-only was given" })
	p := everywhere.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
	ref := everywhere.refused(t, p, actions.Confirmation{Yes: true, Word: "a1", Override: "a"}, actions.BlockReadOnly)
	wantContains(t, ref.Error(), "--read-only was given")
	if actions.ErrorExit(ref) != actions.ExitRefused {
		t.Errorf("exit %d", actions.ErrorExit(ref))
	}

	one := newRig(t, func(o *actions.EngineOptions) {
		o.Policy.Clusters["b"] = actions.ClusterPolicy{ReadOnly: "the config says so"}
	})
	both := append(actionstest.Nodes("a", "a1"), actionstest.Nodes("b", "b1")...)
	one.refused(t, one.plan(t, actions.Drain, both...), actions.Confirmation{Yes: true}, actions.BlockReadOnly)
	one.run(t, t.Context(), one.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{})
}

func TestSourceNotLiveRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, status := range []fleet.SourceStatus{fleet.SourceStale, fleet.SourceDown} {
			r := newRig(t)
			src := r.snap.SourceOf("a")
			src.Status, src.LastError = status, "connection refused"
			time.Sleep(130 * time.Second)
			p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
			if len(r.a.Calls()) > 0 || len(p.Steps) > 0 || p.Targets[0].Fate != actions.FateRefuse {
				t.Errorf("%s: a source that is not live was planned on: %+v", status, p)
			}
			ref := r.refused(t, p, actions.Confirmation{Yes: true}, actions.BlockSource)
			wantContains(t, ref.Error(), "a is "+string(status)+": what is shown is 2m10s old (connection refused)")
			if actions.ErrorExit(ref) != actions.ExitSource {
				t.Errorf("exit %d", actions.ErrorExit(ref))
			}
		}
	})
}

func TestSourceThatDiesAfterPlanningRefuses(t *testing.T) {
	r := newRig(t)
	p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
	r.snap.SourceOf("a").Status = fleet.SourceStale
	r.refused(t, p, actions.Confirmation{Yes: true}, actions.BlockSource)
}

func TestNoSnapshotYetRefuses(t *testing.T) {
	r := newRig(t)
	r.snap = nil
	p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
	r.refused(t, p, actions.Confirmation{Yes: true}, actions.BlockSource)
}

func TestTicketRequired(t *testing.T) {
	r := newRig(t, func(o *actions.EngineOptions) { o.Policy.TicketRequired = true })
	r.refused(t, r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{Yes: true}, actions.BlockInput)
	p, err := r.engine.Plan(t.Context(), actions.Request{
		Verb: actions.Drain, Targets: actionstest.Nodes("a", "a1"), Options: actions.Options{Ticket: "OPS-12"},
	})
	if err != nil || len(p.Blockers) > 0 {
		t.Errorf("with a ticket: %v, %v", p.Blockers, err)
	}
}

func TestWhatCannotBeRecordedIsNotDone(t *testing.T) {
	r := newRig(t)
	r.audit.Fail(errors.New("read-only file system"))
	p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
	ref := r.refused(t, p, actions.Confirmation{Yes: true}, actions.BlockAudit)
	wantContains(t, ref.Error(), "read-only file system")

	none := newRig(t, func(o *actions.EngineOptions) { o.Auditor = nil })
	none.refused(t, none.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{Yes: true}, actions.BlockAudit)

	r.audit.Fail(nil)
	p = r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
	r.audit.Fail(errors.New("disk full")) // between plan and run
	r.refused(t, p, actions.Confirmation{Yes: true}, actions.BlockAudit)
}

func TestOldOrUsedPlanRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
		time.Sleep(6 * time.Minute)
		r.refused(t, p, actions.Confirmation{Yes: true}, actions.BlockOld)

		p = r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
		r.run(t, t.Context(), p, actions.Confirmation{})
		if _, err := r.engine.Run(t.Context(), p, actions.Confirmation{}); !errors.Is(err, actions.ErrRefused) {
			t.Errorf("the same plan ran twice: %v", err)
		}
	})
}

func TestTargetsMustStillExist(t *testing.T) {
	r := newRig(t)
	job := &fleet.Job{Key: fleet.JobKey{Cluster: "a", ID: "4711", Submit: 100}, ID: "4711", Base: fleet.JobRunning}
	with := func(jobs ...*fleet.Job) *fleet.Snapshot {
		s := *actionstest.Snapshot(map[string]int{"a": 1})
		s.Jobs = jobs
		return fleet.NewSnapshot(s)
	}
	r.snap = with(job)
	target := actions.Target{Kind: fleet.KindJob, Cluster: "a", Name: "4711", Job: job.Key}
	p := r.plan(t, actions.Cancel, target)

	again := *job
	again.Key.Submit = 200 // the id was used again: not the job that was shown
	r.snap = with(&again)
	r.refused(t, p, actions.Confirmation{Yes: true}, actions.BlockTarget)

	node := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
	r.snap = actionstest.Snapshot(map[string]int{"a": 0})
	r.refused(t, node, actions.Confirmation{Yes: true}, actions.BlockTarget)
}

func TestNothingLeftToDoIsRefusedOrDone(t *testing.T) {
	r := newRig(t)
	r.a.SetFault("a1", actionstest.Fault{Refuse: "it is on fire"})
	ref := r.refused(t, r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{}, actions.BlockTarget)
	wantContains(t, ref.Error(), "a1: it is on fire")

	r.a.SetFault("a2", actionstest.Fault{Skip: true})
	res := result(t, r.run(t, t.Context(), r.plan(t, actions.Drain, actionstest.Nodes("a", "a2")...), actions.Confirmation{}))
	if res.Result != actions.Verified || len(r.a.Sent()) > 0 {
		t.Errorf("a node that already is so: %s, sent %v", res.Result, r.a.Sent())
	}
}

func TestJournalThatCannotBeWrittenIsWarnedOf(t *testing.T) {
	r := newRig(t, func(o *actions.EngineOptions) { o.Journal = actions.NewJournal("/dev/null/state") })
	p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
	if len(p.Warnings) != 1 || len(p.Blockers) != 0 {
		t.Fatalf("warnings %v, blockers %v", p.Warnings, p.Blockers)
	}
	wantContains(t, p.Warnings[0], "the journal cannot be written")
	res := result(t, r.run(t, t.Context(), p, actions.Confirmation{}))
	if res.Result != actions.Verified {
		t.Errorf("result %s: %s", res.Result, res.Message)
	}
	wantContains(t, res.Message, "without a journal")
}

func TestMalformedPlanIsNotRun(t *testing.T) {
	r := newRig(t)
	for name, spoil := range map[string]func(*actions.Plan){
		"number":  func(p *actions.Plan) { p.Steps[0].N = 3 },
		"need":    func(p *actions.Plan) { p.Steps[0].Needs = []int{1} },
		"cluster": func(p *actions.Plan) { p.Steps[0].Target.Cluster = "z" },
	} {
		p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
		spoil(p)
		if _, err := r.engine.Run(t.Context(), p, actions.Confirmation{Yes: true}); !errors.Is(err, actions.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
