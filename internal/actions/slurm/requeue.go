package slurm

import (
	"strconv"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// restartPause is left between the end of a run and the start of the next. A slurmd
// takes a job that is started in the second in which it was killed for the killed run
// ("Job credential revoked"), and slurmctld then fails the job for good: that is what
// Slurm's own wait of two minutes is for.
const restartPause = 5 * time.Second

// requeue stops a job and puts it back into the queue under the same id.
func (p *planner) requeue(t actions.Target, j *fleet.Job) {
	before := jobState(j)
	if j.Waiting() {
		p.refuse(actions.BlockTarget, t, before, "waits already: it has nothing to stop")
		return
	}
	if !p.requeueable(t, j, before) {
		return
	}
	p.verdict(t, actions.FateAct, before, "")
	switch {
	case j.Base == fleet.JobSuspended:
		p.stops(j)
		p.warn("%s is suspended: Slurm puts such a job back held, and it must be released afterwards", j.ID)
	case j.Done():
		p.warn("%s has ended (%s): requeueing runs it again from its script", j.ID, j.Base)
	default:
		p.stops(j)
	}
	o := p.req.Options
	if !o.Now && !o.Hold {
		p.warn("Slurm itself holds a requeued job back for about two minutes (BeginTime); --now starts it as soon as there is room")
	}
	p.requeueSteps(t, j, nil)
}

// requeueable reports whether Slurm will take the job back, and records why not.
func (p *planner) requeueable(t actions.Target, j *fleet.Job, before string) bool {
	if j.Requeue {
		return true
	}
	p.refuse(actions.BlockTarget, t, before,
		"was submitted with --no-requeue, and Slurm would say \"Requested operation is presently disabled\"; allow it first: scontrol update jobid="+j.ID+" requeue=1")
	return false
}

// requeueSteps puts a job back and, as asked, changes what must be changed while it
// is held, releases it, and lets it start at once.
func (p *planner) requeueSteps(t actions.Target, j *fleet.Job, needs []int) {
	o := p.req.Options
	hold := o.Hold || len(o.Exclude) > 0 // excluded nodes cannot change while it runs
	word := "requeue"
	expect := "restart " + strconv.Itoa(j.Restarts+1) + ", waiting or running again"
	if hold {
		word, expect = "requeuehold", "restart "+strconv.Itoa(j.Restarts+1)+", held"
	}
	needs = []int{p.step(actions.Step{
		Name: "requeue " + j.ID, Op: opRequeue, Target: t, Needs: needs,
		Args: map[string]string{
			"id": sendID(j), "hold": strconv.FormatBool(hold), "restarts": strconv.Itoa(j.Restarts),
		},
		Command: "scontrol " + word + " " + quote(sendID(j)),
		Expect:  expect,
	})}
	needs = p.excludeStep(t, j, needs)
	if o.Hold {
		return
	}
	if hold {
		needs = p.releaseStep(t, j, needs)
	}
	if o.Now {
		p.startNowStep(t, j, needs, restartPause)
	}
}
