// Package actionstest has a backend, an audit log and a small fleet for tests of
// whatever plans and runs actions. Their faults are set by the test; their clock
// is time.Now, so they fit into a testing/synctest bubble.
//
// It imports actions and fleet.
package actionstest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Fault is how the world misbehaves for one target. The zero Fault behaves: the
// change shows at once.
type Fault struct {
	Delay   time.Duration // the change shows this long after it was sent
	Do      error         // what sending returns; nothing arrives
	Lost    bool          // with Do: it arrives all the same
	Swallow bool          // sending succeeds and changes nothing
	Slow    time.Duration // every call takes this long, or until its context ends
	Read    error         // what reading back returns
	Never   bool          // reading back says that it cannot come about
	Script  []bool        // the first read-backs, instead of the truth
	Skip    bool          // Plan finds that there is nothing to do
	Refuse  string        // Plan refuses the target
}

// Backend is a scheduler made of two maps. Every target of a plan gets the step
// "VERB NAME" and, if Wait is set, a second one "wait NAME" that only watches,
// twice, and whose Fault goes by that name.
type Backend struct {
	Cluster string
	User    string
	Wait    bool
	PlanErr error
	// Impact is given to every plan; Nodes is counted when it is 0.
	Impact actions.Impact
	// Inverse is the verb of the way back; empty: none.
	Inverse actions.Verb
	// UndoneBy is given to every plan.
	UndoneBy []string

	mu      sync.Mutex
	faults  map[string]Fault
	arrived map[string]time.Time
	calls   []string
}

var _ actions.Backend = (*Backend)(nil)

// SetFault makes the target (or "wait NAME") misbehave.
func (b *Backend) SetFault(name string, f Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.faults == nil {
		b.faults = map[string]Fault{}
	}
	b.faults[name] = f
}

// Calls lists what was asked of the backend: "plan", "do NAME", "check NAME".
func (b *Backend) Calls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// Sent lists the targets that something was sent to, in order.
func (b *Backend) Sent() []string {
	var names []string
	for _, c := range b.Calls() {
		var name string
		if n, _ := fmt.Sscanf(c, "do %s", &name); n == 1 {
			names = append(names, name)
		}
	}
	return names
}

// Plan implements actions.Backend.
func (b *Backend) Plan(_ context.Context, _ *fleet.Snapshot, req actions.Request) (*actions.Plan, error) {
	b.note("plan")
	if b.PlanErr != nil {
		return nil, b.PlanErr
	}
	p := &actions.Plan{Verb: req.Verb, Request: req, Impact: b.Impact, UndoneBy: b.UndoneBy}
	p.Clusters = []actions.Acting{{Cluster: b.Cluster, User: b.User, Role: fleet.RoleAdministrator, Via: "test"}}
	for _, t := range req.Targets {
		b.planTarget(p, t)
	}
	if b.Impact.Nodes == 0 && len(req.Targets) > 0 && req.Targets[0].Kind == fleet.KindNode {
		p.Impact.Nodes = len(req.Targets)
	}
	if b.Inverse != "" {
		p.Inverse = &actions.Request{Verb: b.Inverse, Targets: req.Targets}
	}
	return p, nil
}

func (b *Backend) planTarget(p *actions.Plan, t actions.Target) {
	f := b.fault(t.Name)
	verdict := actions.TargetPlan{Target: t, Fate: actions.FateAct, Before: "as it was"}
	switch {
	case f.Skip:
		verdict.Fate, verdict.Why = actions.FateSkip, "it already is so"
	case f.Refuse != "":
		verdict.Fate, verdict.Why = actions.FateRefuse, f.Refuse
	}
	p.Targets = append(p.Targets, verdict)
	if verdict.Fate != actions.FateAct {
		return
	}
	act := actions.Step{
		N: len(p.Steps) + 1, Name: string(p.Verb) + " " + t.Name, Backend: fleet.Slurm, Op: string(p.Verb),
		Target: t, Command: "test " + string(p.Verb) + " " + t.Name, Expect: "it is so",
	}
	p.Steps = append(p.Steps, act)
	if b.Wait {
		p.Steps = append(p.Steps, actions.Step{
			N: act.N + 1, Name: "wait " + t.Name, Backend: fleet.Slurm, Op: "wait", Target: t,
			Expect: "it is empty", WaitOnly: true, Twice: true, Needs: []int{act.N},
		})
	}
}

// Do implements actions.Backend.
func (b *Backend) Do(ctx context.Context, s actions.Step) error {
	b.note("do " + s.Target.Name)
	f := b.fault(s.Target.Name)
	if err := pause(ctx, f.Slow); err != nil {
		return fmt.Errorf("%w: %w", actions.ErrUnreachable, err)
	}
	if (f.Do == nil || f.Lost) && !f.Swallow {
		b.arrive(s.Target.Name, f.Delay)
	}
	return f.Do
}

// Check implements actions.Backend.
func (b *Backend) Check(ctx context.Context, s actions.Step) (actions.Reading, error) {
	b.note("check " + s.Target.Name)
	name := s.Target.Name
	if s.Op == "wait" {
		name = "wait " + name
	}
	f := b.fault(name)
	if err := pause(ctx, f.Slow); err != nil {
		return actions.Reading{}, fmt.Errorf("%w: %w", actions.ErrUnreachable, err)
	}
	if f.Read != nil {
		return actions.Reading{}, f.Read
	}
	holds := b.holds(s, f)
	if scripted, ok := b.scripted(name); ok {
		holds = scripted
	}
	state := "not so yet"
	if holds {
		state = "it is so"
	}
	return actions.Reading{Holds: holds, State: state, Never: f.Never && !holds}, nil
}

// holds is the truth about the step.
func (b *Backend) holds(s actions.Step, f Fault) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok := b.arrived[s.Target.Name]
	if s.Op == "wait" {
		at = at.Add(f.Delay)
	}
	return ok && !time.Now().Before(at)
}

// scripted takes the next read-back of the target's script.
func (b *Backend) scripted(name string) (holds, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.faults[name]
	if len(f.Script) == 0 {
		return false, false
	}
	holds, f.Script = f.Script[0], f.Script[1:]
	b.faults[name] = f
	return holds, true
}

func (b *Backend) arrive(name string, delay time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.arrived == nil {
		b.arrived = map[string]time.Time{}
	}
	b.arrived[name] = time.Now().Add(delay)
}

func (b *Backend) fault(name string) Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faults[name]
}

func (b *Backend) note(call string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, call)
}

func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
