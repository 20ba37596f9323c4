package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

var now = time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)

// fake is a cluster in memory that records what is sent to it. Methods that no
// test needs are those of the nil interface.
type fake struct {
	slurm.Transport
	hello slurm.Hello
	cant  map[slurm.Op]error
	node  fleet.View
	jobs  []slurm.JobDetail
	err   error // of every write
	sent  []string
}

func (f *fake) Via() string                                      { return "fake" }
func (f *fake) Hello(context.Context) (slurm.Hello, error)       { return f.hello, nil }
func (f *fake) Can(op slurm.Op) error                            { return f.cant[op] }
func (f *fake) Node(context.Context, string) (fleet.View, error) { return f.node, nil }
func (f *fake) Job(context.Context, string) ([]slurm.JobDetail, error) {
	if len(f.jobs) == 0 {
		return nil, fmt.Errorf("job: %w", slurm.ErrNotFound)
	}
	return f.jobs, nil
}

func (f *fake) send(format string, args ...any) error {
	f.sent = append(f.sent, fmt.Sprintf(format, args...))
	return f.err
}

func (f *fake) UpdateNodes(_ context.Context, names []string, c slurm.NodeChange) error {
	return f.send("node %s %s %q", strings.Join(names, ","), c.State, c.Reason)
}

func (f *fake) UpdateJob(_ context.Context, id string, c slurm.JobChange) error {
	return f.send("job %s now=%v exclude=%v limit=%s", id, c.StartNow, c.Exclude, c.TimeLimit)
}

func (f *fake) Requeue(_ context.Context, id string, hold bool) error {
	return f.send("requeue %s %v", id, hold)
}
func (f *fake) Hold(_ context.Context, id string) error    { return f.send("hold %s", id) }
func (f *fake) Release(_ context.Context, id string) error { return f.send("release %s", id) }
func (f *fake) Suspend(_ context.Context, id string) error { return f.send("suspend %s", id) }
func (f *fake) Resume(_ context.Context, id string) error  { return f.send("resume %s", id) }
func (f *fake) Signal(_ context.Context, id, signal string, batch bool) error {
	return f.send("signal %s %q %v", id, signal, batch)
}

// lab is a small cluster: one busy node, one idle, one drained, one draining.
func lab(jobs ...*fleet.Job) *fleet.Snapshot {
	node := func(name, base string, alloc int, flags ...string) *fleet.Node {
		v := fleet.View{Cluster: "lab", Kind: fleet.Slurm, Node: name, Base: base, Flags: flags, GPUs: fleet.GPUCount{Total: 8, Allocated: alloc}}
		if slices.Contains(flags, fleet.FlagDrain) {
			v.Reason = fleet.Reason{Text: "bad NVLink", Author: "alice", At: now.Add(-time.Hour)}
		}
		return &fleet.Node{Name: name, Views: []fleet.View{v}}
	}
	return fleet.NewSnapshot(fleet.Snapshot{
		Seq: 7, At: now,
		Clusters: []fleet.Cluster{{Name: "lab", Kind: fleet.Slurm, Partitions: []fleet.Partition{{Name: "low"}, {Name: "high"}}}},
		Nodes: []*fleet.Node{
			node("gn1", "MIXED", 8), node("gn2", "IDLE", 0), node("gn3", "IDLE", 0, "DRAIN"), node("gn4", "MIXED", 8, "DRAIN"),
		},
		Jobs: jobs,
	})
}

func job(id, base string, change ...func(*fleet.Job)) *fleet.Job {
	j := &fleet.Job{
		Key: fleet.JobKey{Cluster: "lab", ID: id, Submit: 1}, ID: id, Name: "train", User: "alice", Queue: "low", Base: base,
		Requeue: true, GPUs: fleet.GPUDemand{Wanted: 8}, Limit: fleet.Limit{Kind: fleet.LimitSet, Duration: time.Hour},
	}
	if base == fleet.JobRunning {
		j.GPUs.Held, j.Nodes, j.Started = 8, []string{"gn1"}, now.Add(-2*time.Hour)
	}
	for _, f := range change {
		f(j)
	}
	return j
}

func because(code string) func(*fleet.Job) { return func(j *fleet.Job) { j.Reason.Code = code } }

// harness plans against a fake.
type harness struct {
	t    *testing.T
	fake *fake
	b    *Backend
	snap *fleet.Snapshot
}

func newHarness(t *testing.T, role fleet.Role, jobs ...*fleet.Job) *harness {
	f := &fake{hello: slurm.Hello{User: "gpuop", Role: role, Config: map[string]string{}}}
	b := New(Options{Cluster: "lab", Client: slurm.New(f), Operator: "carol", Now: func() time.Time { return now }})
	return &harness{t: t, fake: f, b: b, snap: lab(jobs...)}
}

func (h *harness) plan(v actions.Verb, o actions.Options, names ...string) *actions.Plan {
	h.t.Helper()
	kind := fleet.KindJob
	if v == actions.Drain || v == actions.Undrain {
		kind = fleet.KindNode
	}
	req := actions.Request{Verb: v, Options: o}
	for _, n := range names {
		req.Targets = append(req.Targets, actions.Target{Kind: kind, Cluster: "lab", Name: n})
	}
	p, err := h.b.Plan(h.t.Context(), h.snap, req)
	if err != nil {
		h.t.Fatal(err)
	}
	if len(h.fake.sent) > 0 {
		h.t.Fatalf("planning sent %v", h.fake.sent)
	}
	return p
}

// ops is the plan's operations in order.
func ops(p *actions.Plan) string {
	var s []string
	for _, x := range p.Steps {
		s = append(s, x.Op)
	}
	return strings.Join(s, " ")
}

func (h *harness) wantBlocked(p *actions.Plan, code actions.BlockCode, words string) {
	h.t.Helper()
	for _, b := range p.Blockers {
		if b.Code == code && strings.Contains(b.Text, words) {
			return
		}
	}
	h.t.Errorf("no %s blocker with %q in %+v", code, words, p.Blockers)
}

func (h *harness) wantClear(p *actions.Plan) {
	h.t.Helper()
	if len(p.Blockers) > 0 {
		h.t.Errorf("blocked: %+v", p.Blockers)
	}
}
