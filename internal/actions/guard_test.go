package actions_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/actions/actionstest"
)

func TestGuardIsRaisedByImpact(t *testing.T) {
	many := func(n int) []actions.Target {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("a%d", i+1))
		}
		return actionstest.Nodes("a", names...)
	}
	for name, c := range map[string]struct {
		policy  actions.ClusterPolicy
		targets []actions.Target
		impact  actions.Impact
		want    actions.Guard
		word    string
		why     string
	}{
		"config none":        {actions.ClusterPolicy{Guard: actions.GuardNone}, many(1), actions.Impact{}, actions.GuardNone, "", ""},
		"config silent":      {actions.ClusterPolicy{}, many(1), actions.Impact{}, actions.GuardConfirm, "", ""},
		"config typed":       {actions.ClusterPolicy{Guard: actions.GuardTyped}, many(1), actions.Impact{}, actions.GuardTyped, "a1", ""},
		"config unknown":     {actions.ClusterPolicy{Guard: "maybe"}, many(1), actions.Impact{}, actions.GuardTyped, "a1", ""},
		"production":         {actions.ClusterPolicy{Guard: actions.GuardNone, Production: true}, many(1), actions.Impact{}, actions.GuardConfirm, "", "a production cluster"},
		"jobs stop":          {actions.ClusterPolicy{Guard: actions.GuardNone}, many(1), actions.Impact{Nodes: 1, Jobs: []string{"1"}}, actions.GuardConfirm, "", "running jobs stop"},
		"four targets":       {actions.ClusterPolicy{Guard: actions.GuardNone}, many(4), actions.Impact{}, actions.GuardConfirm, "", "more than 3 targets"},
		"five nodes":         {actions.ClusterPolicy{Guard: actions.GuardNone}, many(5), actions.Impact{}, actions.GuardTyped, "a", "more than 4 nodes"},
		"others' GPUs":       {actions.ClusterPolicy{Guard: actions.GuardNone}, many(1), actions.Impact{Nodes: 1, GPUs: 65, Users: []string{"alice"}}, actions.GuardTyped, "a1", "more than 64 GPUs of other people's jobs stop"},
		"own GPUs":           {actions.ClusterPolicy{Guard: actions.GuardNone}, many(1), actions.Impact{Nodes: 1, GPUs: 512, Users: []string{"gpuadm"}}, actions.GuardNone, "", ""},
		"typed stays silent": {actions.ClusterPolicy{Guard: actions.GuardTyped}, many(5), actions.Impact{}, actions.GuardTyped, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(o *actions.EngineOptions) { o.Policy.Clusters["a"] = c.policy })
			r.a.Impact = c.impact
			p := r.plan(t, actions.Drain, c.targets...)
			why := ""
			if len(p.GuardWhy) > 0 {
				why = p.GuardWhy[0]
			}
			if p.Guard != c.want || p.Word != c.word || why != c.why {
				t.Errorf("guard %s, word %q, why %q; want %s, %q, %q", p.Guard, p.Word, why, c.want, c.word, c.why)
			}
		})
	}
}

func TestGuardIsTheStrictestOfItsClusters(t *testing.T) {
	r := newRig(t, func(o *actions.EngineOptions) {
		o.Policy.Clusters["b"] = actions.ClusterPolicy{Guard: actions.GuardTyped}
	})
	p := r.plan(t, actions.Drain, append(actionstest.Nodes("a", "a1"), actionstest.Nodes("b", "b1")...)...)
	if p.Guard != actions.GuardTyped || p.Word != "a+b" {
		t.Errorf("guard %s, word %q", p.Guard, p.Word)
	}
}

func TestConfirmation(t *testing.T) {
	for name, c := range map[string]struct {
		guard actions.Guard
		conf  actions.Confirmation
		runs  bool
	}{
		"none":                   {actions.GuardNone, actions.Confirmation{}, true},
		"confirm: nothing":       {actions.GuardConfirm, actions.Confirmation{}, false},
		"confirm: yes":           {actions.GuardConfirm, actions.Confirmation{Yes: true}, true},
		"confirm: word":          {actions.GuardConfirm, actions.Confirmation{Word: "a1"}, true},
		"confirm: wrong word":    {actions.GuardConfirm, actions.Confirmation{Word: "a2"}, false},
		"typed: nothing":         {actions.GuardTyped, actions.Confirmation{}, false},
		"typed: yes is too weak": {actions.GuardTyped, actions.Confirmation{Yes: true}, false},
		"typed: wrong word":      {actions.GuardTyped, actions.Confirmation{Yes: true, Word: "A1"}, false},
		"typed: word":            {actions.GuardTyped, actions.Confirmation{Word: "a1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(o *actions.EngineOptions) { o.Policy.Clusters["a"] = actions.ClusterPolicy{Guard: c.guard} })
			p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
			if !c.runs {
				r.refused(t, p, c.conf, actions.BlockGuard)
				entries := r.audit.Entries()
				if len(entries) != 1 || entries[0].Phase != actions.PhaseRefused || entries[0].Targets[0] != "a1" {
					t.Errorf("the refusal was recorded as %+v", entries)
				}
				return
			}
			if res := result(t, r.run(t, t.Context(), p, c.conf)); res.Result != actions.Verified {
				t.Errorf("result %s", res.Result)
			}
		})
	}
}

// A plan changed after it was shown does not get past the guard with less.
func TestGuardIsWorkedOutAgainAtRun(t *testing.T) {
	r := newRig(t, func(o *actions.EngineOptions) {
		o.Policy.Clusters["a"] = actions.ClusterPolicy{Guard: actions.GuardTyped}
	})
	p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...)
	p.Guard = actions.GuardNone
	r.refused(t, p, actions.Confirmation{}, actions.BlockGuard)
}

func TestC70_CapOnNodesPerWindow(t *testing.T) {
	limits := actions.Limits{NodesPerWindow: 4, Window: 600e9, Percent: 50}
	newCapped := func(t *testing.T) *rig {
		return newRig(t, func(o *actions.EngineOptions) { o.Policy.Limits = limits })
	}
	t.Run("a rule that matches every node", func(t *testing.T) {
		r := newCapped(t)
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprintf("a%d", i+1))
		}
		p := r.plan(t, actions.Drain, actionstest.Nodes("a", names...)...)
		ref := r.refused(t, p, actions.Confirmation{Word: "a"}, actions.BlockCap)
		wantContains(t, ref.Error(), "20 nodes of a would be out of service within 10m0s (0 before, 20 now), at most 4 of 20 are allowed")
		r.refused(t, p, actions.Confirmation{Word: "a", Override: "b"}, actions.BlockCap)
		synctest.Test(t, func(t *testing.T) {
			r := newCapped(t)
			p := r.plan(t, actions.Drain, actionstest.Nodes("a", names...)...)
			res := result(t, r.run(t, t.Context(), p, actions.Confirmation{Word: "a", Override: "a"}))
			if res.Result != actions.Verified || r.audit.Entries()[0].Override != "a" {
				t.Errorf("result %s, recorded %+v", res.Result, r.audit.Entries()[0])
			}
		})
	})
	t.Run("those before count, again is not more", func(t *testing.T) {
		r := newCapped(t)
		r.audit.SetTouched("a1", "a2", "a3", "a4")
		r.refused(t, r.plan(t, actions.Drain, actionstest.Nodes("a", "a5")...), actions.Confirmation{Yes: true}, actions.BlockCap)
		if p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a4")...); len(p.Blockers) > 0 {
			t.Errorf("draining the same node again: %v", p.Blockers)
		}
		if p := r.plan(t, actions.Undrain, actionstest.Nodes("a", "a5")...); len(p.Blockers) > 0 {
			t.Errorf("undrain is not capped: %v", p.Blockers)
		}
	})
	t.Run("percent of a small cluster", func(t *testing.T) {
		r := newCapped(t)
		if p := r.plan(t, actions.Drain, actionstest.Nodes("b", "b1", "b2")...); len(p.Blockers) > 0 {
			t.Errorf("half of four: %v", p.Blockers)
		}
		r.refused(t, r.plan(t, actions.Drain, actionstest.Nodes("b", "b1", "b2", "b3")...), actions.Confirmation{Yes: true}, actions.BlockCap)
	})
	t.Run("another gpuctl drained meanwhile", func(t *testing.T) {
		r := newCapped(t)
		p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a5")...)
		r.audit.SetTouched("a1", "a2", "a3", "a4")
		r.refused(t, p, actions.Confirmation{Yes: true}, actions.BlockCap)
	})
}

func TestPercentNeverForbidsTheFirstNode(t *testing.T) {
	r := newRig(t, func(o *actions.EngineOptions) { o.Policy.Limits = actions.Limits{Percent: 1, Window: 600e9} })
	if p := r.plan(t, actions.Drain, actionstest.Nodes("b", "b1")...); len(p.Blockers) > 0 {
		t.Errorf("one node: %v", p.Blockers)
	}
	if p := r.plan(t, actions.Drain, actionstest.Nodes("b", "b1", "b2")...); !has(p.Blockers, actions.BlockCap) {
		t.Error("two of four nodes are more than one percent")
	}
}

func TestExitCodes(t *testing.T) {
	step := func(o actions.Outcome) actions.StepResult { return actions.StepResult{Result: o} }
	for _, c := range []struct {
		res  actions.Result
		want int
	}{
		{actions.Result{Result: actions.Verified}, actions.ExitVerified},
		{actions.Result{Result: actions.Refused}, actions.ExitRefused},
		{actions.Result{Result: actions.NotVerified, Steps: []actions.StepResult{step(actions.NotVerified)}}, actions.ExitNotVerified},
		{actions.Result{Result: actions.NotVerified, Steps: []actions.StepResult{step(actions.Verified), step(actions.Failed)}}, actions.ExitNotVerified},
		{actions.Result{Result: actions.NotVerified, Steps: []actions.StepResult{step(actions.Failed)}}, actions.ExitError},
	} {
		if got := c.res.Exit(); got != c.want {
			t.Errorf("%+v: exit %d, want %d", c.res, got, c.want)
		}
	}
	for err, want := range map[error]int{
		nil:                    actions.ExitVerified,
		actions.ErrInput:       actions.ExitUsage,
		actions.ErrRefused:     actions.ExitRefused,
		actions.ErrUnreachable: actions.ExitSource,
		errors.New("other"):    actions.ExitError,
	} {
		if got := actions.ErrorExit(err); got != want {
			t.Errorf("%v: exit %d, want %d", err, got, want)
		}
	}
}
