package actions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Run carries the plan out. A *Refusal means that nothing was sent. Otherwise the
// channel gives every event, ends with Done, and is closed: read it to its end.
//
// When ctx ends, the run stops waiting: steps not begun are not tried, a call under
// way is let finish, and what was sent is reported as not verified. A reader that
// goes away must end ctx.
func (e *Engine) Run(ctx context.Context, p *Plan, c Confirmation) (<-chan Event, error) {
	if err := e.checkSteps(p); err != nil {
		return nil, fmt.Errorf("run %s: %w", p.ID, err)
	}
	frozen := *p
	frozen.Steps = slices.Clone(p.Steps)
	r := &run{e: e, plan: &frozen, override: c.Override, out: newEventQueue(), open: map[waitKey]int{}}
	if blockers := e.admit(&frozen, c); len(blockers) > 0 {
		refusal := &Refusal{Blockers: blockers}
		r.recordRefusal(refusal)
		return nil, refusal
	}
	go r.out.pump(ctx)
	go r.all(ctx)
	return r.out.out, nil
}

// checkSteps refuses a plan that could never be run in order: numbers that are not
// 1..n, a need of a later step, a cluster that nobody acts on.
func (e *Engine) checkSteps(p *Plan) error {
	for i, s := range p.Steps {
		if s.N != i+1 || slices.ContainsFunc(s.Needs, func(n int) bool { return n < 1 || n >= s.N }) {
			return fmt.Errorf("%w: step %d (%s) has number %d and needs %v", ErrInput, i+1, s.Name, s.N, s.Needs)
		}
		if e.opts.Backends[s.Target.Cluster] == nil {
			return fmt.Errorf("%w: gpuctl does not act on cluster %q", ErrInput, s.Target.Cluster)
		}
	}
	return nil
}

// admit returns all that stands in the way of running the plan now. A plan that is
// let in is not let in again.
func (e *Engine) admit(p *Plan, c Confirmation) []Blocker {
	snap := e.snapshot()
	blockers := addBlockers(nil, p.Blockers...)
	blockers = addBlockers(blockers, e.blockers(p, snap)...)
	blockers = slices.DeleteFunc(blockers, func(b Blocker) bool {
		return b.Code == BlockCap && b.Cluster == c.Override
	})
	if old := e.opts.Now().Sub(p.At); old > planLife {
		blockers = append(blockers, Blocker{Code: BlockOld, Text: fmt.Sprintf("the plan is %s old: plan again", age(old))})
	}
	blockers = append(blockers, gone(p, snap)...)
	level, _ := e.guard(p)
	if b := p.unconfirmed(level, c); b != nil {
		blockers = append(blockers, *b)
	}
	if len(blockers) == 0 && !e.first(p.ID) {
		blockers = append(blockers, Blocker{Code: BlockOld, Text: "the plan was run already: plan again"})
	}
	return blockers
}

// first reports whether the plan is run for the first time.
func (e *Engine) first(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ran[id] {
		return false
	}
	e.ran[id] = true
	return true
}

// gone lists the targets that are no longer what the plan was made for.
func gone(p *Plan, snap *fleet.Snapshot) []Blocker {
	var out []Blocker
	for _, t := range p.Targets {
		if t.Fate == FateAct && !exists(t.Target, snap) {
			out = append(out, Blocker{Code: BlockTarget, Cluster: t.Target.Cluster, Text: fmt.Sprintf(
				"%s %s is no longer on %s as it was planned for: plan again", t.Target.Kind, t.Target.Name, t.Target.Cluster)})
		}
	}
	return out
}

func exists(t Target, snap *fleet.Snapshot) bool {
	switch {
	case t.Kind == fleet.KindNode:
		n := snap.Node(t.Name)
		return n != nil && n.View(t.Cluster) != nil
	case t.Job != fleet.JobKey{}:
		return snap.Job(t.Job) != nil
	case t.Kind == fleet.KindJob:
		return len(snap.FindJobs(t.Cluster, t.Name)) > 0
	}
	return true
}

// run is one plan being carried out.
type run struct {
	e        *Engine
	plan     *Plan
	override string // the cluster whose cap is lifted
	journal  *runJournal
	out      *eventQueue
	// results and done belong to the steps, by index: done is closed when the
	// result stands.
	results []StepResult
	done    []chan struct{}

	mu   sync.Mutex
	open map[waitKey]int // steps not ended yet
}

// waitKey tells the steps of a cluster that act from those that only wait: the
// source is refreshed when the last of either ends.
type waitKey struct {
	cluster string
	wait    bool
}

// all runs every step, each as soon as its needs are met.
func (r *run) all(ctx context.Context) {
	defer r.out.close()
	r.journal = r.e.opts.Journal.begin(r.plan, r.e.opts.Now())
	ctx, cancel := context.WithTimeoutCause(ctx, r.plan.Timeout, errTimeUp)
	defer cancel()
	r.results = make([]StepResult, len(r.plan.Steps))
	for _, s := range r.plan.Steps {
		r.done = append(r.done, make(chan struct{}))
		r.open[waitKey{s.Target.Cluster, s.WaitOnly}]++
	}
	var wg sync.WaitGroup
	for i := range r.plan.Steps {
		wg.Go(func() { r.step(ctx, i) })
	}
	wg.Wait()
	r.finish()
}

// step runs one step to its result.
func (r *run) step(ctx context.Context, i int) {
	defer close(r.done[i])
	s := &r.plan.Steps[i]
	if need := r.failedNeed(s); need != nil {
		r.end(i, StepResult{Result: NotTried, Detail: "it needs step " + need.Name + ", which is " + need.Result.Words()})
		return
	}
	began := time.Now()
	res := r.attempt(ctx, s)
	res.Took = time.Since(began)
	r.end(i, res)
}

// failedNeed waits for what the step needs and returns the first of it that is not
// verified; nil when all is. The needs end by themselves when the run is stopped.
func (r *run) failedNeed(s *Step) *StepResult {
	for _, n := range s.Needs {
		<-r.done[n-1]
	}
	for _, n := range s.Needs {
		if res := &r.results[n-1]; res.Result != Verified {
			return res
		}
	}
	return nil
}

// end keeps the step's result, durably, and tells the reader.
func (r *run) end(i int, res StepResult) {
	s := &r.plan.Steps[i]
	res.N, res.Name, res.Target = s.N, s.Name, s.Target
	res.Before = r.before(s.Target)
	res.TookMS = res.Took.Milliseconds()
	entry := r.entry(s, PhaseAfter)
	entry.After, entry.Result, entry.Detail = res.After, res.Result, res.Detail
	if err := r.e.opts.Auditor.Record(entry); err != nil {
		res.Detail = strings.TrimPrefix(res.Detail+"; it could not be recorded: "+err.Error(), "; ")
	}
	r.journal.result(res, r.e.opts.Now())
	r.results[i] = res
	r.out.push(Event{Plan: r.plan.ID, Finished: &r.results[i]})
	r.refresh(s)
}

// refresh asks the cluster's source for a fresh look when the last step of its
// kind has ended: one look for many steps.
func (r *run) refresh(s *Step) {
	key := waitKey{s.Target.Cluster, s.WaitOnly}
	r.mu.Lock()
	r.open[key]--
	last := r.open[key] == 0
	r.mu.Unlock()
	if last && r.e.opts.Refresh != nil {
		r.e.opts.Refresh(s.Target.Cluster)
	}
}

// finish says what became of the plan.
func (r *run) finish() {
	res := Result{Plan: r.plan, Result: overall(r.plan, r.results), Steps: r.results}
	res.Message = message(&res)
	entry := r.planEntry(PhaseDone)
	entry.Result, entry.Detail = res.Result, res.Message
	if err := r.e.opts.Auditor.Record(entry); err != nil {
		res.Message += "; the end could not be recorded: " + err.Error()
	}
	if err := r.journal.end(res.Result, r.e.opts.Now()); err != nil && len(r.results) > 0 {
		res.Message += "; it ran without a journal: " + err.Error()
	}
	r.out.push(Event{Plan: r.plan.ID, Done: &res})
}
