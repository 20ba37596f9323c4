package mig_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/actions/actionstest"
	"github.com/gpuctl/gpuctl/internal/actions/mig"
	slurmactions "github.com/gpuctl/gpuctl/internal/actions/slurm"
	agentmig "github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/mig/migtest"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

// controller is a Slurm cluster with one node.
type controller struct {
	slurm.Transport
	mu   sync.Mutex
	node fleet.View
	sent []string
}

func (c *controller) Via() string        { return "fake" }
func (c *controller) Can(slurm.Op) error { return nil }
func (c *controller) Hello(context.Context) (slurm.Hello, error) {
	return slurm.Hello{User: "gpuadm", Role: fleet.RoleAdministrator, Config: map[string]string{}}, nil
}

func (c *controller) Node(context.Context, string) (fleet.View, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.node, nil
}

func (c *controller) UpdateNodes(_ context.Context, names []string, n slurm.NodeChange) error {
	c.change(func(v *fleet.View) {
		v.Flags = nil
		if n.State == "DRAIN" {
			v.Flags, v.Reason.Text = []string{fleet.FlagDrain}, n.Reason
		}
	})
	c.sent = append(c.sent, n.State+" "+strings.Join(names, ","))
	return nil
}

func (c *controller) change(f func(v *fleet.View)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.node)
}

// agent is the agent of that node: the real engine on devices in memory.
type agent struct {
	engine  *agentmig.Engine
	devices map[string]*migtest.Device
	gpus    map[string]*fleet.GPU
	down    error // of every request
	lost    int   // so many replies of changes are lost
	outcome map[string]wire.Reply
	resets  int
	asked   []wire.Op
	reset   func(uuid string) wire.Reply // instead of a reset that works
}

func (a *agent) Request(ctx context.Context, _ string, r wire.Request) (wire.Reply, error) {
	a.asked = append(a.asked, r.Op)
	if a.down != nil {
		return wire.Reply{}, a.down
	}
	if known, ok := a.outcome[r.ID]; ok {
		return known, nil
	}
	reply := a.answer(ctx, r)
	a.outcome[r.ID] = reply
	if a.lost > 0 && (r.Op == wire.OpMIGApply || r.Op == wire.OpGPUReset) {
		a.lost--
		return wire.Reply{}, errors.New("connection reset")
	}
	return reply, nil
}

func (a *agent) answer(ctx context.Context, r wire.Request) wire.Reply {
	var args wire.MIGArgs
	if err := json.Unmarshal(r.Args, &args); err != nil {
		return wire.Reply{Error: err.Error(), Code: wire.CodeMalformed}
	}
	d := a.devices[args.UUID]
	switch r.Op {
	case wire.OpMIGPlan, wire.OpMIGApply:
		p, err := a.engine.Plan(ctx, d, a.gpus[args.UUID], args)
		if err == nil && r.Op == wire.OpMIGApply {
			err = a.engine.Apply(ctx, d, p, nil)
		}
		if err != nil {
			return wire.Reply{Error: err.Error(), Code: agentmig.CodeOf(err)}
		}
		raw, _ := json.Marshal(p)
		return wire.Reply{Result: raw}
	case wire.OpGPUReset:
		if a.reset != nil {
			return a.reset(args.UUID)
		}
		a.resets++
		d.Reset()
		return wire.Reply{}
	case wire.OpHealth:
		raw, _ := json.Marshal([]fleet.Check{{Name: "ecc", Result: fleet.CheckOK}})
		return wire.Reply{Result: raw}
	}
	return wire.Reply{Error: "unknown", Code: wire.CodeMalformed}
}

// rig is a console on a node of that many A100-80.
type rig struct {
	t      *testing.T
	slurm  *controller
	agent  *agent
	snap   fleet.Snapshot
	node   *fleet.Node
	engine *actions.Engine
}

const cluster, host = "lab", "gn1"

func uuidOf(i int) string { return fmt.Sprintf("GPU-%d", i) }

// newRig makes a node with GPUs of those layouts; Slurm is configured for them.
func newRig(t *testing.T, layouts ...string) *rig {
	t.Helper()
	r := &rig{
		t: t, slurm: &controller{}, node: &fleet.Node{Name: host},
		agent: &agent{
			engine:  agentmig.NewEngine(agentmig.Options{Dir: t.TempDir(), BootID: "boot"}),
			devices: map[string]*migtest.Device{}, gpus: map[string]*fleet.GPU{}, outcome: map[string]wire.Reply{},
		},
	}
	counts := map[string]int64{}
	for i, layout := range layouts {
		d := migtest.New(migtest.A10080(), fleet.MIGEnabled)
		if err := d.Set(layout); err != nil {
			t.Fatal(err)
		}
		r.agent.devices[uuidOf(i)] = d
		r.node.GPUs = append(r.node.GPUs, fleet.GPU{UUID: uuidOf(i), Index: i, Node: host, MIG: d.Now(), PCIDevice: 0x20b210de})
		if layout == "off" {
			counts["a100"]++
		}
		for _, inst := range d.Now().Instances {
			counts["a100_"+inst.Profile]++
		}
	}
	for i := range r.node.GPUs {
		r.agent.gpus[uuidOf(i)] = &r.node.GPUs[i]
	}
	r.slurm.node = fleet.View{Cluster: cluster, Kind: fleet.Slurm, Node: host, Base: fleet.BaseIdle, DaemonUp: time.Now().Add(-time.Hour)}
	for typ, n := range counts {
		r.slurm.node.GRES = append(r.slurm.node.GRES, fleet.GRES{Name: "gpu", Type: typ, Count: n})
	}
	r.snap = fleet.Snapshot{
		Seq: 7, At: time.Now(), Clusters: []fleet.Cluster{{Name: cluster, Kind: fleet.Slurm}},
		Sources: []fleet.SourceState{{Name: cluster, Cluster: cluster, Status: fleet.SourceLive, LastSuccess: time.Now()}},
		Nodes:   []*fleet.Node{r.node},
	}
	return r
}

// start puts the console together; what the snapshot holds is settled by then.
func (r *rig) start() {
	r.node.Views = append([]fleet.View{r.slurm.node}, r.node.Views...)
	snap := fleet.NewSnapshot(r.snap)
	sched := slurmactions.New(slurmactions.Options{Cluster: cluster, Client: slurm.New(r.slurm), Operator: "gpuop"})
	backend := mig.New(mig.Options{Cluster: cluster, Scheduler: sched, Agent: r.agent, Operator: "gpuop"})
	r.engine = actions.NewEngine(actions.EngineOptions{
		Backends: map[string]actions.Backend{cluster: backend},
		Snapshot: func() *fleet.Snapshot { return snap }, Auditor: &actionstest.Auditor{},
		Policy: actions.Policy{Clusters: map[string]actions.ClusterPolicy{cluster: {Guard: actions.GuardConfirm}}},
	})
}

func (r *rig) plan(verb actions.Verb, o actions.Options) *actions.Plan {
	r.t.Helper()
	if r.engine == nil {
		r.start()
	}
	p, err := r.engine.Plan(r.t.Context(), actions.Request{Verb: verb, Targets: actionstest.Nodes(cluster, host), Options: o})
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// run carries the plan out; the person restarts slurmd with the configuration that
// the plan's instruction asks for, when restart is set.
func (r *rig) run(p *actions.Plan, restart bool) *actions.Result {
	r.t.Helper()
	events, err := r.engine.Run(r.t.Context(), p, actions.Confirmation{Yes: true, Word: p.Word})
	if err != nil {
		r.t.Fatal(err)
	}
	var done *actions.Result
	for e := range events {
		if e.Waiting != nil && restart && p.Steps[e.Waiting.N-1].Op == "gres" {
			r.restart()
		}
		if e.Done != nil {
			done = e.Done
		}
	}
	return done
}

// restart is what a person does: the configuration is made to fit the node.
func (r *rig) restart() {
	counts := map[string]int64{}
	for _, d := range r.agent.devices {
		if d.Now().Current == fleet.MIGDisabled {
			counts["a100"]++
		}
		for _, i := range d.Now().Instances {
			counts["a100_"+i.Profile]++
		}
	}
	r.slurm.change(func(v *fleet.View) {
		v.GRES = nil
		for typ, n := range counts {
			v.GRES = append(v.GRES, fleet.GRES{Name: "gpu", Type: typ, Count: n})
		}
		v.DaemonUp = time.Now()
	})
}

func wish(i int, layout string) actions.GPUWish {
	return actions.GPUWish{UUID: uuidOf(i), Layout: layout}
}

func steps(p *actions.Plan) string {
	var s []string
	for _, x := range p.Steps {
		s = append(s, x.Op)
	}
	return strings.Join(s, " ")
}

func says(list []string, words ...string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(s, w) })
	})
}

func blocked(p *actions.Plan) []string {
	var s []string
	for _, b := range p.Blockers {
		s = append(s, b.Text)
	}
	return s
}
