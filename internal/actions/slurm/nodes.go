package slurm

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// reasonPrefix starts every drain reason that gpuctl writes, so that people, health
// checks and operators can tell whose drain it is.
const reasonPrefix = "gpuctl:"

func checkDrain(p *planner) {
	needAdministrator(p)
	switch reason := oneLine(p.req.Options.Reason); {
	case reason == "":
		p.block(actions.BlockInput, "draining needs a reason (Slurm refuses without one): add --reason TEXT")
	case len(reason) > maxReason:
		p.block(actions.BlockInput, fmt.Sprintf("the reason has %d bytes, more than the %d that may be", len(reason), maxReason))
	}
	if prog := p.hello.Config["HealthCheckProgram"]; prog != "" && prog != "(null)" {
		p.plan.UndoneBy = append(p.plan.UndoneBy,
			fmt.Sprintf("the health check %s may resume the node when its own tests pass", prog))
	}
}

// maxReason is more than anybody reads, and less than a command takes.
const maxReason = 32 << 10

// oneLine is what a terminal shows of a text, on one line: what it does not show, or
// would act on, and bytes that are no UTF-8 are left out.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar
	}), " ")
}

// drainReason is the text Slurm shows: prefix, person, words, ticket. One line.
func (p *planner) drainReason() string {
	text := oneLine(p.req.Options.Reason)
	who := p.operator
	if who == "" {
		who = p.hello.User
	}
	r := reasonPrefix + who + ": " + strings.TrimSpace(strings.TrimPrefix(text, reasonPrefix+who+":"))
	if t := oneLine(p.req.Options.Ticket); t != "" {
		r += " [" + t + "]"
	}
	return r
}

// drain keeps new work away and waits until nothing is left. A node that drains
// already is only watched: whoever drained it keeps their reason.
func (p *planner) drain(t actions.Target) {
	v := p.findView(t)
	if v == nil {
		return
	}
	before := nodeState(v)
	if v.Drained() {
		p.skip(t, before, "already drained: "+v.Reason.Text)
		return
	}
	p.verdict(t, actions.FateAct, before, "")
	p.plan.Impact.Nodes++
	p.tellJobsHere(t.Name)
	var needs []int
	if v.Has(fleet.FlagDrain) {
		p.warn("%s is draining already (%s, by %s): its reason stays, and it is only watched", t.Name, v.Reason.Text, author(v))
	} else {
		p.undoes(t)
		reason := p.drainReason()
		needs = []int{p.step(actions.Step{
			Name: "set DRAIN on " + t.Name, Op: opDrain, Target: t,
			Args:    map[string]string{"reason": reason},
			Command: fmt.Sprintf("scontrol update nodename=%s state=drain reason=%s", t.Name, quote(reason)),
			Expect:  "DRAIN is set",
		})}
	}
	wait := drainedStep(t)
	wait.Needs = needs
	p.step(wait)
}

// tellJobsHere notes what still runs on a node that is to drain.
func (p *planner) tellJobsHere(node string) {
	jobs := p.snap.JobsOn(node)
	if len(jobs) == 0 {
		return
	}
	words := make([]string, 0, 4)
	for i, j := range jobs {
		if i == 3 && len(jobs) > 4 {
			words = append(words, fmt.Sprintf("%d more", len(jobs)-i))
			break
		}
		words = append(words, describe(j))
	}
	stay, end := "stay", "each ends"
	if len(jobs) == 1 {
		stay, end = "stays", "it ends"
	}
	p.note("draining stops nothing: %s %s on %s until %s by itself (%s)",
		plural(len(jobs), "job"), stay, node, end, strings.Join(words, "; "))
}

// undrain returns a node to service.
func (p *planner) undrain(t actions.Target) {
	v := p.findView(t)
	if v == nil {
		return
	}
	before := nodeState(v)
	if !v.Has(fleet.FlagDrain) && !v.Has(fleet.FlagFail) && v.Base != fleet.BaseDown {
		p.skip(t, before, "not drained, failing or down: Slurm has nothing to resume")
		return
	}
	p.verdict(t, actions.FateAct, before, "")
	p.plan.Impact.Nodes++
	p.warnBeforeResume(t.Name, v)
	p.undoes(t)
	p.inverse.Options.Reason = v.Reason.Text
	p.step(resumeStep(t))
}

// warnBeforeResume says what may bring the fault straight back.
func (p *planner) warnBeforeResume(node string, v *fleet.View) {
	text := strings.ToLower(v.Reason.Text)
	switch {
	case strings.Contains(text, "kill task failed"):
		p.warn("%s was drained by Slurm because a step could not be killed: look for the process that hangs (usually on I/O) before it takes work again", node)
	case strings.Contains(text, "count reported lower than configured"):
		p.warn("%s reports fewer GPUs than configured (%s): it will be drained again as soon as slurmd registers", node, v.Reason.Text)
	case v.Reason.Text != "" && !strings.HasPrefix(v.Reason.Text, reasonPrefix):
		p.warn("%s was drained by %s for %q: make sure that it is settled", node, author(v), v.Reason.Text)
	}
	if v.Has(fleet.FlagNotResponding) {
		p.warn("%s does not answer slurmctld: it stays down until slurmd does", node)
	}
}

func author(v *fleet.View) string {
	if v.Reason.Author == "" {
		return "someone unknown"
	}
	return v.Reason.Author
}
