package slurm

import (
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

// verb is how one verb is planned.
type verb struct {
	op      slurm.Op     // the write it needs first
	inverse actions.Verb // what takes it back; empty: nothing can
	timeout time.Duration
	check   func(p *planner)                   // once: options and rights for all targets
	target  func(p *planner, t actions.Target) // for each target: steps, skip or refuse
}

// verbs is the whole of what gpuctl does to a Slurm cluster.
var verbs = map[actions.Verb]verb{
	actions.Drain:     {slurm.OpUpdateNode, actions.Undrain, 30 * time.Second, checkDrain, (*planner).drain},
	actions.Undrain:   {slurm.OpUpdateNode, actions.Drain, 30 * time.Second, needAdministrator, (*planner).undrain},
	actions.Hold:      {slurm.OpHold, actions.Release, 30 * time.Second, noCheck, onJob((*planner).hold)},
	actions.Release:   {slurm.OpRelease, actions.Hold, 30 * time.Second, noCheck, onJob((*planner).release)},
	actions.Requeue:   {slurm.OpRequeue, "", 5 * time.Minute, noCheck, onJob((*planner).requeue)},
	actions.Cancel:    {slurm.OpCancel, "", 2 * time.Minute, checkSignal, onJob((*planner).cancel)},
	actions.Preempt:   {slurm.OpRequeue, "", 5 * time.Minute, checkPreempt, onJob((*planner).preempt)},
	actions.Suspend:   {slurm.OpSuspend, actions.Unsuspend, 30 * time.Second, needOperator, onJob((*planner).suspend)},
	actions.Unsuspend: {slurm.OpSuspend, actions.Suspend, 30 * time.Second, needOperator, onJob((*planner).unsuspend)},
	actions.Update:    {slurm.OpUpdateJob, actions.Update, 30 * time.Second, checkUpdate, onJob((*planner).update)},
}

func noCheck(*planner) {}

// onJob looks the target's job up, checks the right to it, and plans it.
func onJob(plan func(p *planner, t actions.Target, j *fleet.Job)) func(*planner, actions.Target) {
	return func(p *planner, t actions.Target) {
		j := p.findJob(t)
		if j == nil || !p.mayTouch(t, j) {
			return
		}
		plan(p, t, j)
	}
}
