package mig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// outOfService plans the drain by the scheduler's own rules, or the wait for one that
// somebody began.
func (p *planner) outOfService(ctx context.Context) error {
	o := actions.Options{Reason: p.reason(), Ticket: p.req.Options.Ticket}
	part, err := p.b.opts.Scheduler.Plan(ctx, p.snap, actions.Request{Verb: actions.Drain, Targets: p.req.Targets, Options: o})
	if err != nil {
		return err
	}
	p.plan.Clusters, p.plan.UndoneBy = part.Clusters, part.UndoneBy
	p.plan.Impact.Nodes = 1
	if p.req.Options.NoDrain {
		p.staysInService()
		return nil
	}
	p.plan.Blockers = append(p.plan.Blockers, part.Blockers...)
	p.plan.Impact.Note = part.Impact.Note
	for _, w := range part.Warnings {
		p.warn("%s", w)
	}
	for _, s := range part.Steps {
		p.drained = p.drained || !s.WaitOnly
		p.step(s)
	}
	if len(part.Steps) == 0 {
		p.step(p.b.opts.Scheduler.Drained(p.target))
	}
	return nil
}

// staysInService lets the node keep its work, if a person types its name.
func (p *planner) staysInService() {
	if p.view.Drained() {
		return
	}
	p.plan.Guard = actions.GuardTyped
	p.warn("%s is not drained, and stays in service: work that starts there meanwhile may fail", p.target.Name)
	i := &p.plan.Impact
	for _, j := range p.snap.JobsOn(p.target.Name) {
		i.Jobs = append(i.Jobs, j.ID)
		i.GPUs += j.GPUs.Held
		if !slices.Contains(i.Users, j.User) {
			i.Users = append(i.Users, j.User)
		}
		if !j.Started.IsZero() {
			i.GPUHours += float64(j.GPUs.Held) * max(0, p.plan.At.Sub(j.Started).Hours())
		}
	}
}

// aroundTheNode says whom a change of some GPUs touches beside them: the driver is
// one for the whole node (mig-parted#357).
func (p *planner) aroundTheNode() {
	var others []string
	for i := range p.node.GPUs {
		if g := &p.node.GPUs[i]; !slices.ContainsFunc(p.req.Options.GPUs, func(w actions.GPUWish) bool { return w.UUID == g.UUID }) {
			others = append(others, fmt.Sprint(g.Index))
		}
	}
	var jobs []string
	for _, j := range p.snap.JobsOn(p.target.Name) {
		jobs = append(jobs, j.ID+" of "+j.User)
	}
	if len(others) > 0 {
		p.warn("clients of the whole node may be disturbed, not only of the chosen GPUs: %s also has GPU %s; %s",
			p.target.Name, strings.Join(others, ", "), jobsHere(jobs))
	}
	for i := range p.node.Views {
		if v := &p.node.Views[i]; v.Cluster != p.target.Cluster && !v.Drained() {
			p.block(actions.BlockTarget, "node %s also takes work from %s, where it is %s: drain it there first",
				p.target.Name, v.Cluster, strings.Join(append([]string{v.Base}, v.Flags...), "+"))
		}
	}
}

func jobsHere(jobs []string) string {
	if len(jobs) == 0 {
		return "no job is there now"
	}
	return "jobs there now: " + strings.Join(jobs, ", ")
}

// backInService plans what comes after the agents' steps.
func (p *planner) backInService() {
	if len(p.will) > 0 && p.view.Kind == fleet.Slurm {
		after := p.after()
		if w := gresWarning(p.target, p.view, &after); w != "" {
			p.warn("%s", w)
		}
		p.step(gresStep(p.target, p.view, &after))
	}
	switch {
	case p.drained:
		p.step(p.b.opts.Scheduler.Resume(p.target))
	case p.view.Has(fleet.FlagDrain):
		p.warn("%s stays drained: it was before (%s, by %s)", p.target.Name, p.view.Reason.Text, p.view.Reason.Author)
	}
}

// after counts the devices that the node will have.
func (p *planner) after() stock {
	s := stock{counts: map[string]int{}}
	for i := range p.node.GPUs {
		g := &p.node.GPUs[i]
		state, ok := p.will[g.UUID]
		if !ok {
			state = g.MIG
		}
		s.add(state.Current, state.Instances)
	}
	return s
}
