package slurm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

// planner gathers one plan.
type planner struct {
	cluster  string
	operator string
	now      time.Time
	snap     *fleet.Snapshot
	req      actions.Request
	hello    slurm.Hello // zero when nobody answered; a blocker then stands
	// full reads a job in full: polls do not carry its excluded nodes.
	full    func(id string) ([]slurm.JobDetail, error)
	plan    *actions.Plan
	inverse actions.Request
	notes   []string
	freed   int      // GPUs that the planned steps free
	tail    []func() // what is planned after all targets
}

func (p *planner) block(code actions.BlockCode, text string) {
	b := actions.Blocker{Code: code, Text: text}
	if !slices.Contains(p.plan.Blockers, b) {
		p.plan.Blockers = append(p.plan.Blockers, b)
	}
}

func (p *planner) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if !slices.Contains(p.plan.Warnings, w) {
		p.plan.Warnings = append(p.plan.Warnings, w)
	}
}

func (p *planner) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// verdict records what the plan does with one target.
func (p *planner) verdict(t actions.Target, fate actions.Fate, before, why string) {
	p.plan.Targets = append(p.plan.Targets, actions.TargetPlan{Target: t, Fate: fate, Why: why, Before: before})
}

func (p *planner) skip(t actions.Target, before, why string) {
	p.verdict(t, actions.FateSkip, before, why)
}

// refuse records a target that cannot be acted on, and why; one refused target
// refuses the plan, so that a set is acted on whole or not at all.
func (p *planner) refuse(code actions.BlockCode, t actions.Target, before, why string) {
	p.verdict(t, actions.FateRefuse, before, why)
	p.block(code, fmt.Sprintf("%s %s: %s", t.Kind, t.Name, why))
}

// step appends a step and returns its number, for Needs.
func (p *planner) step(s actions.Step) int {
	s.N = len(p.plan.Steps) + 1
	s.Backend = fleet.Slurm
	p.plan.Steps = append(p.plan.Steps, s)
	return s.N
}

// stops counts a running job among what the plan stops.
func (p *planner) stops(j *fleet.Job) {
	i := &p.plan.Impact
	i.Jobs = append(i.Jobs, j.ID)
	if !slices.Contains(i.Users, j.User) {
		i.Users = append(i.Users, j.User)
	}
	i.GPUs += j.GPUs.Held
	if !j.Started.IsZero() && p.now.After(j.Started) {
		i.GPUHours += float64(j.GPUs.Held) * p.now.Sub(j.Started).Hours()
	}
}

// undoes adds a target to the request that would take the plan back.
func (p *planner) undoes(t actions.Target) { p.inverse.Targets = append(p.inverse.Targets, t) }

// finish settles what only the whole plan can say.
func (p *planner) finish() {
	for _, f := range p.tail {
		f()
	}
	if p.req.Options.Timeout > 0 {
		p.plan.Timeout = p.req.Options.Timeout
	}
	if p.inverse.Verb != "" && len(p.inverse.Targets) > 0 {
		p.plan.Inverse = &p.inverse
	}
	if len(p.plan.Impact.Jobs) > 0 {
		p.note("GPU-hours are those run since the job started; what a checkpoint saved is not lost")
	}
	p.plan.Impact.Note = strings.Join(p.notes, "; ")
}

// findJob returns the one job record a target names, or records why there is none.
func (p *planner) findJob(t actions.Target) *fleet.Job {
	if j := p.snap.Job(t.Job); j != nil {
		if n, ok := j.Narrow(t.Name); ok {
			return n
		}
		return j
	}
	switch found := p.snap.FindJobs(p.cluster, t.Name); len(found) {
	case 0:
		p.refuse(actions.BlockTarget, t, "", "not known to "+p.cluster+"; it may have ended long ago")
	case 1:
		return found[0]
	default:
		p.refuse(actions.BlockTarget, t, "", fmt.Sprintf("stands for %d records; name each", len(found)))
	}
	return nil
}

// findView returns what the cluster says of the node a target names, or records
// that it says nothing.
func (p *planner) findView(t actions.Target) *fleet.View {
	if n := p.snap.Node(t.Name); n != nil {
		if v := n.View(p.cluster); v != nil {
			return v
		}
	}
	p.refuse(actions.BlockTarget, t, "", "not a node of "+p.cluster)
	return nil
}
