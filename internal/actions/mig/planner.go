package mig

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// planner gathers one plan.
type planner struct {
	b      *Backend
	snap   *fleet.Snapshot
	req    actions.Request
	target actions.Target
	plan   *actions.Plan

	node    *fleet.Node
	view    *fleet.View
	work    []actions.Step // for the agent, in order
	done    []string       // GPUs that are as wanted already
	refused []string
	// will is what GPUs will be, as far as the plan touches their partitioning.
	will    map[string]fleet.MIGState
	before  []actions.GPUWish // what takes it back
	drained bool              // we drain it, so we resume it
}

func newID() string { return rand.Text() }

func (p *planner) block(code actions.BlockCode, format string, args ...any) {
	p.plan.Blockers = append(p.plan.Blockers, actions.Blocker{Code: code, Text: fmt.Sprintf(format, args...), Cluster: p.target.Cluster})
}

// refuse blocks the plan because of what the target is.
func (p *planner) refuse(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.refused = append(p.refused, text)
	p.block(actions.BlockTarget, "node %s: %s", p.target.Name, text)
}

func (p *planner) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(p.plan.Warnings, w) {
		p.plan.Warnings = append(p.plan.Warnings, w)
	}
}

// make makes the plan. An error is an agent that cannot be asked.
func (p *planner) make(ctx context.Context) error {
	if !p.find() {
		p.verdict()
		return nil
	}
	for _, w := range p.req.Options.GPUs {
		gpu := p.gpu(w.UUID)
		if gpu == nil {
			p.refuse("it has no GPU %s", w.UUID)
			continue
		}
		var err error
		if p.req.Verb == actions.MIGApply {
			err = p.repartition(ctx, gpu, w.Layout)
		} else {
			p.reset(gpu)
		}
		if err != nil {
			return err
		}
	}
	p.verdict()
	if len(p.work) == 0 {
		return nil
	}
	if err := p.outOfService(ctx); err != nil {
		return err
	}
	p.aroundTheNode()
	for _, s := range p.work {
		p.step(s)
	}
	p.backInService()
	p.inverse()
	return nil
}

// find looks the node up, and says what speaks against acting there at all.
func (p *planner) find() bool {
	if p.node = p.snap.Node(p.target.Name); p.node != nil {
		p.view = p.node.View(p.target.Cluster)
	}
	switch {
	case p.view == nil:
		p.refuse("not a node of %s", p.target.Cluster)
	case p.b.opts.Agent == nil:
		p.block(actions.BlockVersion, "%s", noAgents)
	case len(p.req.Options.GPUs) == 0:
		p.block(actions.BlockInput, "no GPU is named: give one with --gpu N, or --gpu all")
	default:
		return true
	}
	return false
}

func (p *planner) gpu(uuid string) *fleet.GPU {
	for i := range p.node.GPUs {
		if p.node.GPUs[i].UUID == uuid && uuid != "" {
			return &p.node.GPUs[i]
		}
	}
	return nil
}

// verdict says what the plan does with the node.
func (p *planner) verdict() {
	t := actions.TargetPlan{Target: p.target, Fate: actions.FateAct}
	if p.view != nil {
		t.Before = p.nodeState()
	}
	switch {
	case len(p.plan.Blockers) > 0:
		t.Fate, t.Why = actions.FateRefuse, p.plan.Blockers[0].Text
		if len(p.refused) > 0 {
			t.Why = strings.Join(p.refused, "; ")
		}
	case len(p.work) == 0:
		t.Fate, t.Why = actions.FateSkip, "already so: "+strings.Join(p.done, "; ")
	}
	p.plan.Targets = []actions.TargetPlan{t}
}

func (p *planner) nodeState() string {
	parts := []string{strings.Join(append([]string{p.view.Base}, p.view.Flags...), "+")}
	for i := range p.node.GPUs {
		parts = append(parts, gpuState(&p.node.GPUs[i]))
	}
	return strings.Join(parts, "; ")
}

// step appends a step that needs the one before it.
func (p *planner) step(s actions.Step) {
	s.N = len(p.plan.Steps) + 1
	if s.N > 1 {
		s.Needs = []int{s.N - 1}
	}
	p.plan.Steps = append(p.plan.Steps, s)
}

// inverse is the way back to the layouts before.
func (p *planner) inverse() {
	if p.req.Verb != actions.MIGApply || len(p.before) == 0 {
		return
	}
	back := p.req
	back.Options.GPUs, back.Options.Timeout = p.before, 0
	p.plan.Inverse = &back
}

func (p *planner) reason() string {
	if r := strings.TrimSpace(p.req.Options.Reason); r != "" {
		return r
	}
	return string(p.req.Verb)
}

// agentStep is a step for the node's agent.
func (p *planner) agentStep(op, uuid string) actions.Step {
	return actions.Step{
		Backend: AgentSteps, Op: op, Target: p.target, Patience: 5 * time.Minute,
		Args: map[string]string{"uuid": uuid, "request": newID(), "reason": p.reason()},
	}
}
