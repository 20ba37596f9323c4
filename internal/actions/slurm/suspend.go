package slurm

import (
	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// suspend stops a job's processes where they are.
func (p *planner) suspend(t actions.Target, j *fleet.Job) {
	before := jobState(j)
	if j.Base == fleet.JobSuspended {
		p.skip(t, before, "already suspended")
		return
	}
	if j.Base != fleet.JobRunning {
		p.refuse(actions.BlockTarget, t, before, "does not run")
		return
	}
	p.verdict(t, actions.FateAct, before, "")
	p.stops(j)
	p.undoes(t)
	p.warn("%s keeps its GPUs and their memory while it is suspended: no other job gets them", j.ID)
	p.step(actions.Step{
		Name: "suspend " + j.ID, Op: opSuspend, Target: t, Args: map[string]string{"id": sendID(j)},
		Command: "scontrol suspend " + quote(sendID(j)),
		Expect:  "it is SUSPENDED",
	})
}

// unsuspend lets a suspended job go on.
func (p *planner) unsuspend(t actions.Target, j *fleet.Job) {
	before := jobState(j)
	if j.Base == fleet.JobRunning {
		p.skip(t, before, "runs already")
		return
	}
	if j.Base != fleet.JobSuspended {
		p.refuse(actions.BlockTarget, t, before, "is not suspended")
		return
	}
	p.verdict(t, actions.FateAct, before, "")
	p.undoes(t)
	p.step(actions.Step{
		Name: "resume " + j.ID, Op: opResume, Target: t, Args: map[string]string{"id": sendID(j)},
		Command: "scontrol resume " + quote(sendID(j)),
		Expect:  "it is RUNNING",
	})
}
