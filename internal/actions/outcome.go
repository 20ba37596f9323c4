package actions

import (
	"fmt"
	"strings"
)

// overall is what became of the plan: verified only if everything asked for is
// shown to hold, refused only if nothing was sent.
func overall(p *Plan, steps []StepResult) Outcome {
	verified, unsent := 0, 0
	for _, s := range steps {
		switch s.Result {
		case Verified:
			verified++
		case Refused, NotTried:
			unsent++
		}
	}
	switch {
	case verified == len(steps) && len(p.refusedTargets()) == 0:
		return Verified
	case unsent == len(steps):
		return Refused
	}
	return NotVerified
}

// refusedTargets are what the plan leaves out although it was asked for.
func (p *Plan) refusedTargets() []TargetPlan {
	var out []TargetPlan
	for _, t := range p.Targets {
		if t.Fate == FateRefuse {
			out = append(out, t)
		}
	}
	return out
}

// message is the result in one sentence.
func message(r *Result) string {
	title := r.Plan.Title()
	if len(r.Steps) == 0 {
		return title + ": nothing to do, it already is so"
	}
	if r.Result == Verified {
		return title + ": verified"
	}
	var why []string
	verified := 0
	for _, s := range r.Steps {
		switch s.Result {
		case Verified:
			verified++
		case NotTried: // the step it needed says why
		default:
			why = append(why, fmt.Sprintf("%s is %s (%s)", s.Name, s.Result.Words(), s.Detail))
		}
	}
	for _, t := range r.Plan.refusedTargets() {
		why = append(why, fmt.Sprintf("%s was left out (%s)", t.Target.Name, t.Why))
	}
	if len(why) == 0 {
		why = append(why, r.Steps[0].Detail)
	}
	return fmt.Sprintf("%s: %d of %d steps verified; %s", title, verified, len(r.Steps), listWords(why, 3))
}

// entry is the audit record of a step.
func (r *run) entry(s *Step, phase Phase) Entry {
	e := r.baseEntry(phase, s.Target.Cluster)
	e.Step, e.Name, e.Target, e.Command = s.N, s.Name, s.Target, s.Command
	e.Before = r.before(s.Target)
	return e
}

// planEntry is the audit record of the plan as a whole.
func (r *run) planEntry(phase Phase) Entry {
	e := r.baseEntry(phase, strings.Join(r.plan.clusters(), "+"))
	for _, t := range r.plan.Request.Targets {
		e.Targets = append(e.Targets, t.Name)
	}
	return e
}

func (r *run) baseEntry(phase Phase, cluster string) Entry {
	opts := &r.plan.Request.Options
	e := Entry{
		At: r.e.opts.Now(), Phase: phase, Plan: r.plan.ID, Verb: r.plan.Verb, Cluster: cluster,
		Reason: opts.Reason, Ticket: opts.Ticket, Override: r.override,
	}
	for _, a := range r.plan.Clusters {
		if a.Cluster == cluster {
			e.As, e.Via = a.User, a.Via
		}
	}
	return e
}

// recordRefusal notes that someone wanted this and was not let. That it cannot be
// recorded may be the very reason, and changes nothing: nothing was sent.
func (r *run) recordRefusal(refusal *Refusal) {
	if r.e.opts.Auditor == nil {
		return
	}
	entry := r.planEntry(PhaseRefused)
	entry.Result, entry.Detail = Refused, refusal.Error()
	_ = r.e.opts.Auditor.Record(entry)
}

// before is how the plan found the target.
func (r *run) before(t Target) string {
	for i := range r.plan.Targets {
		if r.plan.Targets[i].Target == t {
			return r.plan.Targets[i].Before
		}
	}
	return ""
}
