package actions

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

const (
	// planPatience is how long the backends together may take to make a plan.
	planPatience = 30 * time.Second
	// planLife is how long a plan may be looked at before it must be made anew.
	planLife = 5 * time.Minute
)

// Engine makes plans and runs them. Its methods may be called from several
// goroutines; runs go on side by side.
type Engine struct {
	opts  EngineOptions
	gates map[string]*gate

	mu  sync.Mutex
	ran map[string]bool // ids of plans that were run
}

// NewEngine returns an engine for the clusters of opts.Backends.
func NewEngine(opts EngineOptions) *Engine {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	e := &Engine{opts: opts, gates: map[string]*gate{}, ran: map[string]bool{}}
	for cluster := range opts.Backends {
		e.gates[cluster] = newGate()
	}
	return e
}

// snapshot returns the newest snapshot, an empty one while there is none.
func (e *Engine) snapshot() *fleet.Snapshot {
	if s := e.opts.Snapshot(); s != nil {
		return s
	}
	return fleet.NewSnapshot(fleet.Snapshot{})
}

// Plan works out what the request would do. It changes nothing. What stands in
// the way is in the plan's Blockers; an error means that there is no plan: the
// request makes no sense (ErrInput), or a backend could not make one.
func (e *Engine) Plan(ctx context.Context, req Request) (*Plan, error) {
	req.Targets = dedupe(req.Targets)
	groups, err := e.split(req)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", req.Verb, err)
	}
	ctx, cancel := context.WithTimeout(ctx, planPatience)
	defer cancel()
	snap := e.snapshot()
	plan := &Plan{ID: newID(e.opts.Now()), Verb: req.Verb, Request: req, At: e.opts.Now(), Seq: snap.Seq}
	for _, group := range groups {
		part, err := e.planCluster(ctx, snap, group)
		if err != nil {
			return nil, fmt.Errorf("plan %s on %s: %w", req.Verb, group.Targets[0].Cluster, err)
		}
		plan.merge(part)
	}
	e.finish(plan, snap)
	return plan, nil
}

// split checks the request and divides it by cluster, in the order of its targets.
func (e *Engine) split(req Request) ([]Request, error) {
	if !req.Verb.Known() {
		return nil, fmt.Errorf("%w: unknown verb %q", ErrInput, req.Verb)
	}
	if len(req.Targets) == 0 {
		return nil, fmt.Errorf("%w: no target", ErrInput)
	}
	var groups []Request
	for _, t := range req.Targets {
		if t.Name == "" || e.opts.Backends[t.Cluster] == nil {
			return nil, fmt.Errorf("%w: %s %q: gpuctl does not act on cluster %q", ErrInput, t.Kind, t.Name, t.Cluster)
		}
		i := slices.IndexFunc(groups, func(g Request) bool { return g.Targets[0].Cluster == t.Cluster })
		if i < 0 {
			groups = append(groups, Request{Verb: req.Verb, Options: req.Options})
			i = len(groups) - 1
		}
		groups[i].Targets = append(groups[i].Targets, t)
	}
	return groups, nil
}

// planCluster asks one backend. A cluster that cannot be believed now is not
// asked: its part says why it is refused.
func (e *Engine) planCluster(ctx context.Context, snap *fleet.Snapshot, req Request) (*Plan, error) {
	cluster := req.Targets[0].Cluster
	if b := sourceBlocker(snap, cluster, e.opts.Now()); b != nil {
		return refusedPart(req, *b), nil
	}
	part, err := e.opts.Backends[cluster].Plan(ctx, snap, req)
	if errors.Is(err, ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		b := Blocker{Code: BlockSource, Cluster: cluster, Text: cluster + " could not be asked: " + err.Error()}
		return refusedPart(req, b), nil
	}
	return part, err
}

// refusedPart is the plan of a cluster that nothing can be done on.
func refusedPart(req Request, b Blocker) *Plan {
	part := &Plan{Blockers: []Blocker{b}}
	for _, t := range req.Targets {
		part.Targets = append(part.Targets, TargetPlan{Target: t, Fate: FateRefuse, Why: b.Text})
	}
	return part
}

// finish adds to the merged plan what is the engine's business.
func (e *Engine) finish(p *Plan, snap *fleet.Snapshot) {
	p.Blockers = addBlockers(p.Blockers, e.blockers(p, snap)...)
	p.Blockers = addBlockers(p.Blockers, p.hopeless()...)
	p.Guard, p.GuardWhy = e.guard(p)
	if p.Guard == GuardTyped {
		p.Word = p.confirmWord()
	}
	p.Timeout = timeout(p)
	p.Warnings = addNew(p.Warnings, families(p.Request.Targets, snap)...)
	if err := e.opts.Journal.Ready(); err != nil {
		p.Warnings = append(p.Warnings, fmt.Sprintf(
			"the journal cannot be written (%v): if gpuctl is killed while this runs, only the audit log tells what was sent", err))
	}
}

// hopeless blocks a plan in which nothing can be done, for want of a better reason.
func (p *Plan) hopeless() []Blocker {
	if len(p.Steps) > 0 || len(p.Blockers) > 0 {
		return nil
	}
	for _, t := range p.Targets {
		if t.Fate == FateRefuse {
			return []Blocker{{Code: BlockTarget, Cluster: t.Target.Cluster, Text: t.Target.Name + ": " + t.Why}}
		}
	}
	return nil
}

// timeout is how long the run may take: what was asked for, else the backends'
// own time or the verb's, and more for many steps because calls are spaced out.
func timeout(p *Plan) time.Duration {
	t := p.Timeout
	switch {
	case p.Request.Options.Timeout > 0:
		return p.Request.Options.Timeout
	case t > 0:
	case p.Verb == Requeue || p.Verb == Preempt || p.Verb == Cancel:
		t = 5 * time.Minute // KillWait and the epilog are in it
	default:
		t = time.Minute
	}
	return t + time.Duration(len(p.Steps))*3*callSpacing
}

// dedupe keeps the first of equal targets.
func dedupe(targets []Target) []Target {
	seen := make(map[Target]bool, len(targets))
	var out []Target
	for _, t := range targets {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// newID returns an id that sorts by time and that no other gpuctl makes.
func newID(now time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return now.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(b[:])
}

// Undo is the request that takes the plan back; false when nothing can.
func Undo(p *Plan) (Request, bool) {
	if p.Inverse == nil {
		return Request{}, false
	}
	return *p.Inverse, true
}
