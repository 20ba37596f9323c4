package mig_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/actions/mig"
	agentmig "github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

func layouts(gpus ...actions.GPUWish) actions.Options { return actions.Options{GPUs: gpus} }

func TestApplyFromDrainToResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "3g.40gb@0,3g.40gb@4", "7g.80gb@0")
		p := r.plan(actions.MIGApply, layouts(wish(0, "3g.40gb,2g.20gb,1g.10gb")))
		if got := steps(p); got != "drain drained mig-apply gres resume-node" || len(p.Blockers) > 0 {
			t.Fatalf("%s, blockers %v", got, p.Blockers)
		}
		if s := p.Steps[2]; !strings.Contains(s.Name, "keep 3g.40gb@0; destroy 3g.40gb@4; create 2g.20gb@4,1g.10gb@6") || s.Args["layout"] != "3g.40gb@0,2g.20gb@4,1g.10gb@6" {
			t.Errorf("%s, %v", s.Name, s.Args)
		}
		if p.Inverse == nil || p.Inverse.Options.GPUs[0].Layout != "3g.40gb@0,3g.40gb@4" {
			t.Errorf("inverse %+v", p.Inverse)
		}
		res := r.run(p, true)
		if res.Result != actions.Verified {
			t.Fatalf("%s: %+v", res.Message, res.Steps)
		}
		if got := agentmig.Describe(r.agent.devices[uuidOf(0)].Now()); got != "MIG enabled: 3g.40gb@0, 2g.20gb@4, 1g.10gb@6" {
			t.Error(got)
		}
		if want := []string{"DRAIN gn1", "RESUME gn1"}; !slices.Equal(r.slurm.sent, want) {
			t.Errorf("sent %v", r.slurm.sent)
		}
	})
}

// The count that Slurm was configured with stays: the node is not resumed.
func TestC94d_ConfiguredAgainstReportedGRES(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "1g.10gb@0,1g.10gb@1,1g.10gb@2,1g.10gb@3,1g.10gb@4,1g.10gb@5,1g.10gb@6", "7g.80gb@0")
		p := r.plan(actions.MIGApply, layouts(wish(0, "3g.40gb:2")))
		if !says(p.Warnings, "configuration has 8 GPU devices on gn1 (gpu:1g.10gb:7, gpu:7g.80gb:1)", "will have 3 (gpu:3g.40gb:2, gpu:7g.80gb:1)", "INVAL", "count reported lower than configured") {
			t.Errorf("warnings %q", p.Warnings)
		}
		if s := p.Steps[3]; !strings.Contains(s.Name, "set Gres of gn1 to gpu:3g.40gb:2, gpu:7g.80gb:1") || !strings.Contains(s.Name, "restart slurmd") {
			t.Errorf("%q", s.Name)
		}
		res := r.run(p, false)
		if res.Result != actions.NotVerified || res.Steps[2].Result != actions.Verified || res.Steps[4].Result != actions.NotTried {
			t.Fatalf("%+v", res.Steps)
		}
		if d := res.Steps[3].Detail; !strings.Contains(d, "configured gpu:1g.10gb:7") || !strings.Contains(d, "wanted gpu:3g.40gb:2") {
			t.Error(d)
		}
		if slices.Contains(r.slurm.sent, "RESUME gn1") {
			t.Error("a node that Slurm would call INVAL was resumed")
		}
	})
}

// Slurm counts fewer devices than configured: that is shown although the daemon was
// restarted.
func TestC94d_InvalNodeIsNotVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "3g.40gb@0")
		p := r.plan(actions.MIGApply, layouts(wish(0, "3g.40gb@4")))
		r.slurm.change(func(v *fleet.View) { v.DaemonUp = v.DaemonUp.Add(2 * 3600e9) })
		r.slurm.change(func(v *fleet.View) { v.Reason.Text = "" })
		events, err := r.engine.Run(t.Context(), p, actions.Confirmation{Yes: true})
		if err != nil {
			t.Fatal(err)
		}
		var res *actions.Result
		for e := range events {
			if e.Started != nil && e.Started.Op == "gres" {
				r.slurm.change(func(v *fleet.View) {
					v.Base, v.Reason.Text = fleet.BaseInval, "gres/gpu count reported lower than configured (0 < 1)"
				})
			}
			if e.Done != nil {
				res = e.Done
			}
		}
		if last := res.Steps[3]; last.Result != actions.NotVerified || !strings.Contains(last.Detail, "(0 < 1)") {
			t.Errorf("%+v", last)
		}
	})
}

func TestC93_ImpactCoversTheNode(t *testing.T) {
	r := newRig(t, "7g.80gb@0", "7g.80gb@0", "off")
	r.snap.Jobs = []*fleet.Job{{
		Key: fleet.JobKey{Cluster: cluster, ID: "4711", Submit: 1}, ID: "4711", User: "alice", Base: fleet.JobRunning,
		Nodes: []string{host}, GPUs: fleet.GPUDemand{Held: 1},
	}}
	p := r.plan(actions.MIGApply, layouts(wish(1, "3g.40gb:2")))
	if !says(p.Warnings, "not only of the chosen GPUs", "GPU 0, 2", "4711 of alice") || p.Impact.Nodes != 1 {
		t.Errorf("warnings %q, impact %+v", p.Warnings, p.Impact)
	}
	// Without a drain, the node's jobs are what is at stake, and its name is typed.
	o := layouts(wish(1, "3g.40gb:2"))
	o.NoDrain = true
	p = r.plan(actions.MIGApply, o)
	if p.Guard != actions.GuardTyped || p.Word != host || !slices.Equal(p.Impact.Jobs, []string{"4711"}) || steps(p) != "mig-apply gres" {
		t.Errorf("guard %s %q, impact %+v, steps %s", p.Guard, p.Word, p.Impact, steps(p))
	}
	if _, err := r.engine.Run(t.Context(), p, actions.Confirmation{Yes: true}); !errors.Is(err, actions.ErrRefused) {
		t.Errorf("yes is not the node's name: %v", err)
	}
}

func TestC94_EachGPUItsOwnLayout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "off", "7g.80gb@0", "3g.40gb@0")
		p := r.plan(actions.MIGApply, layouts(wish(0, "7g.80gb"), wish(1, "off"), wish(2, "3g.40gb")))
		if steps(p) != "drain drained mig-apply mig-apply gres resume-node" {
			t.Fatal(steps(p))
		}
		res := r.run(p, true)
		if res.Result != actions.Verified {
			t.Fatalf("%+v", res.Steps)
		}
		for i, want := range []string{"MIG enabled: 7g.80gb@0", "MIG disabled", "MIG enabled: 3g.40gb@0"} {
			if got := agentmig.Describe(r.agent.devices[uuidOf(i)].Now()); got != want {
				t.Errorf("GPU %d: %s, want %s", i, got, want)
			}
		}
	})
}

func TestProcessOnAnAffectedInstanceRefuses(t *testing.T) {
	r := newRig(t, "3g.40gb@0,3g.40gb@4")
	alice := fleet.GPUProcess{PID: 4711, Name: "python", Instance: 2}
	r.agent.devices[uuidOf(0)].Use(alice)
	alice.Owner = fleet.Owner{Job: fleet.JobKey{ID: "12"}, User: "alice"}
	r.node.GPUs[0].Processes = []fleet.GPUProcess{alice}
	p := r.plan(actions.MIGApply, layouts(wish(0, "3g.40gb@0,1g.10gb@4")))
	if !says(blocked(p), "GPU 0", "pid 4711 (python) of job 12, user alice", "3g.40gb@4") || p.Targets[0].Fate != actions.FateRefuse {
		t.Errorf("%+v", p.Blockers)
	}
	if _, err := r.engine.Run(t.Context(), p, actions.Confirmation{Yes: true}); !errors.Is(err, actions.ErrRefused) {
		t.Error(err)
	}
	// The other half is free: that may change.
	p = r.plan(actions.MIGApply, layouts(wish(0, "3g.40gb@4,1g.10gb@0")))
	if len(p.Blockers) > 0 {
		t.Errorf("%+v", p.Blockers)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *rig)
		wishes []actions.GPUWish
		want   string
		exit   int
	}{
		"does not fit":    {nil, []actions.GPUWish{wish(0, "3g.40gb:3")}, "at most 2 of 3g.40gb", actions.ExitRefused},
		"no such GPU":     {nil, []actions.GPUWish{wish(9, "on")}, "it has no GPU GPU-9", actions.ExitRefused},
		"no GPU named":    {nil, nil, "--gpu all", actions.ExitRefused},
		"recovery action": {func(r *rig) { r.node.GPUs[0].Faults = []fleet.Fault{{Kind: "recovery-action", Text: "GPU reset"}} }, []actions.GPUWish{wish(0, "7g.80gb")}, "a recovery action is due: GPU reset", actions.ExitRefused},
		"lost":            {func(r *rig) { r.node.GPUs[0].Health.State = fleet.GPULost }, []actions.GPUWish{wish(0, "7g.80gb")}, "the GPU is lost", actions.ExitRefused},
		"agent down":      {func(r *rig) { r.agent.down = errors.New("no route to host") }, []actions.GPUWish{wish(0, "7g.80gb")}, "no route to host", actions.ExitSource},
		"other scheduler": {func(r *rig) {
			r.node.Views = []fleet.View{{Cluster: "prod", Kind: fleet.Kubernetes, Node: host, Base: "READY"}}
		}, []actions.GPUWish{wish(0, "7g.80gb")}, "also takes work from prod, where it is READY", actions.ExitRefused},
	} {
		r := newRig(t, "3g.40gb@0")
		if c.change != nil {
			c.change(r)
		}
		p := r.plan(actions.MIGApply, layouts(c.wishes...))
		if !says(blocked(p), c.want) || actions.BlockersExit(p.Blockers) != c.exit {
			t.Errorf("%s: %+v", name, p.Blockers)
		}
		if slices.Contains(r.agent.asked, wire.OpMIGApply) || len(r.slurm.sent) > 0 {
			t.Errorf("%s: planning changed something", name)
		}
	}
}

func TestNothingToDo(t *testing.T) {
	r := newRig(t, "3g.40gb@0,3g.40gb@4")
	p := r.plan(actions.MIGApply, layouts(wish(0, "3g.40gb:2")))
	if len(p.Steps) > 0 || p.Targets[0].Fate != actions.FateSkip || !strings.Contains(p.Targets[0].Why, "MIG enabled: 3g.40gb@0, 3g.40gb@4") {
		t.Errorf("%+v", p)
	}
}

func TestNodeThatSomebodyDrainedStaysDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "7g.80gb@0")
		r.slurm.node.Flags, r.slurm.node.Reason = []string{fleet.FlagDrain}, fleet.Reason{Text: "bad fan", Author: "bob"}
		p := r.plan(actions.MIGApply, layouts(wish(0, "3g.40gb:2")))
		if steps(p) != "drained mig-apply gres" || !says(p.Warnings, "stays drained", "bad fan", "bob") {
			t.Fatalf("%s %q", steps(p), p.Warnings)
		}
		if res := r.run(p, true); res.Result != actions.Verified || len(r.slurm.sent) > 0 {
			t.Errorf("%+v, sent %v", res.Steps, r.slurm.sent)
		}
	})
}

// A mode that is only pending is no success, and is shown as what it is.
func TestC92_PendingIsNotVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "off")
		r.agent.devices[uuidOf(0)].NeedsReset = true
		p := r.plan(actions.MIGApply, layouts(wish(0, "7g.80gb")))
		res := r.run(p, true)
		s := res.Steps[2]
		if s.Result != actions.Failed || !strings.Contains(s.Detail, "needs a reset or a reboot") || !strings.Contains(s.After, "pending enabled") {
			t.Errorf("%+v", s)
		}
		if res.Steps[4].Result != actions.NotTried || slices.Contains(r.slurm.sent, "RESUME gn1") {
			t.Errorf("%+v", res.Steps)
		}
		r.node.GPUs[0].MIG = r.agent.devices[uuidOf(0)].Now()
		if p = r.plan(actions.MIGApply, layouts(wish(0, "7g.80gb"))); !says(blocked(p), "MIG mode is pending") {
			t.Errorf("%+v", p.Blockers)
		}
	})
}

// In use by nobody visible: the way out is on the board (mig-parted#181).
func TestC90_WedgeIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "3g.40gb@0,3g.40gb@4")
		d := r.agent.devices[uuidOf(0)]
		d.Held = []int{1}
		p := r.plan(actions.MIGApply, layouts(wish(0, "7g.80gb")))
		res := r.run(p, true)
		if s := res.Steps[2]; s.Result != actions.Failed || !strings.Contains(s.Detail, "nv-hostengine") || !strings.Contains(s.Detail, "restored") {
			t.Errorf("%+v", s)
		}
		if got := agentmig.Describe(d.Now()); got != "MIG enabled: 3g.40gb@0, 3g.40gb@4" {
			t.Error(got)
		}
	})
}

// The connection breaks while the agent works: the same request is sent again, done
// once, and read back. Nothing waits without end.
func TestC91_LostReplyIsLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "7g.80gb@0")
		r.agent.lost = 1
		p := r.plan(actions.MIGApply, layouts(wish(0, "3g.40gb:2")))
		if res := r.run(p, true); res.Result != actions.Verified {
			t.Errorf("%+v", res.Steps)
		}
		r = newRig(t, "7g.80gb@0")
		p = r.plan(actions.MIGApply, layouts(wish(0, "3g.40gb:2")))
		r.agent.down = errors.New("no route to host")
		res := r.run(p, true)
		if s := res.Steps[2]; s.Result != actions.Failed || !strings.Contains(s.Detail, "no route to host") {
			t.Errorf("%+v", s)
		}
	})
}

func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "3g.40gb@0,2g.20gb@4", "off")
		p := r.plan(actions.GPUReset, layouts(wish(0, ""), wish(1, "")))
		if steps(p) != "drain drained gpu-reset mig-apply gpu-reset gres resume-node" || !says(p.Warnings, "do not survive the reset") {
			t.Fatalf("%s %q", steps(p), p.Warnings)
		}
		r.agent.lost = 1
		if res := r.run(p, true); res.Result != actions.Verified || r.agent.resets != 2 {
			t.Fatalf("%d resets, %+v", r.agent.resets, res.Steps)
		}
		if got := agentmig.Describe(r.agent.devices[uuidOf(0)].Now()); got != "MIG enabled: 3g.40gb@0, 2g.20gb@4" {
			t.Error(got)
		}
	})
}

// That a GPU answers does not prove that it was reset.
func TestResetThatFailsIsNotVerified(t *testing.T) {
	for _, code := range []wire.Code{wire.CodeRefused, wire.CodeFailed, wire.CodeLeft} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, "off")
			r.agent.reset = func(string) wire.Reply {
				return wire.Reply{Error: "in use by another client: nv-hostengine holds /dev/nvidia0", Code: code}
			}
			p := r.plan(actions.GPUReset, layouts(wish(0, "")))
			res := r.run(p, true)
			if s := res.Steps[2]; s.Result == actions.Verified || !strings.Contains(s.Detail, "nv-hostengine") {
				t.Errorf("%s: %+v", code, s)
			}
		})
	}
	r := newRig(t, "off")
	r.node.GPUs[0].Processes = []fleet.GPUProcess{{PID: 9, Name: "python", Instance: -1, Owner: fleet.Owner{User: "bob", Job: fleet.JobKey{ID: "7"}}}}
	if p := r.plan(actions.GPUReset, layouts(wish(0, ""))); !says(blocked(p), "pid 9 (python) of job 7, user bob, must end first") {
		t.Errorf("%+v", p.Blockers)
	}
}

func TestChoose(t *testing.T) {
	r := newRig(t, "off", "off", "off")
	for which, want := range map[string]int{"all": 3, "1": 1, "0,2": 2, "0,0": 1, "GPU-2": 1} {
		if got, err := mig.Choose(r.node, which); err != nil || len(got) != want {
			t.Errorf("%q: %d, %v", which, len(got), err)
		}
	}
	for _, which := range []string{"", "3", "0,", "GPU-7", "-1"} {
		if got, err := mig.Choose(r.node, which); !errors.Is(err, actions.ErrInput) {
			t.Errorf("%q: %v, %v", which, got, err)
		}
	}
	gpus, _ := mig.Choose(r.node, "all")
	if _, err := mig.Wishes(gpus, "3g"); !errors.Is(err, actions.ErrInput) {
		t.Error(err)
	}
	configs, err := agentmig.ParsePartedFile([]byte(`{version: v1, mig-configs: {mixed: [
		{devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 7}}, {devices: [2], mig-enabled: false, device-filter: "0x20B210DE"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := mig.PartedWishes(gpus, configs["mixed"])
	if want := []actions.GPUWish{wish(0, "1g.10gb:7"), wish(2, "off")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := mig.PartedWishes(gpus[1:2], configs["mixed"]); !errors.Is(err, actions.ErrInput) {
		t.Error(err)
	}
}
