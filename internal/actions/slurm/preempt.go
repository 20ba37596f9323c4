package slurm

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// defaultGrace is how long a job may save after the signal when nothing else is asked.
const defaultGrace = 60 * time.Second

// checkPreempt checks the signal and the job that is to get the room.
func checkPreempt(p *planner) {
	checkSignal(p)
	id := p.req.Options.For
	if id == "" {
		return
	}
	found := p.snap.FindJobs(p.cluster, id)
	if len(found) != 1 {
		p.block(actions.BlockTarget, fmt.Sprintf("--for %s: %s on %s; name one waiting job", id, plural(len(found), "such job"), p.cluster))
		return
	}
	heir := found[0]
	by, isHeld := held(heir)
	switch {
	case !heir.Waiting():
		p.block(actions.BlockTarget, fmt.Sprintf("--for %s: it does not wait for room (%s)", id, jobState(heir)))
	case isHeld:
		p.block(actions.BlockTarget, fmt.Sprintf("--for %s: it is held by %s; release it first", id, by))
	case heir.Reason.Code == "Dependency" || heir.Reason.Code == "DependencyNeverSatisfied" || heir.Reason.Code == "BeginTime":
		p.block(actions.BlockTarget, fmt.Sprintf("--for %s: room would not start it, it waits for %s", id, heir.Reason.Code))
	default:
		p.tail = append(p.tail, func() { p.handOver(heir) })
	}
}

// preempt takes the nodes from a running job, gently: a signal and a wait when
// asked, then a requeue. Slurm's own wait of two minutes after a requeue lets the
// job that is to get the room go first, so --now is not offered here.
func (p *planner) preempt(t actions.Target, j *fleet.Job) {
	before := jobState(j)
	switch {
	case j.Base != fleet.JobRunning && j.Base != fleet.JobSuspended:
		p.refuse(actions.BlockTarget, t, before, "does not run: it holds nothing to give up")
		return
	case p.req.Options.For == j.ID:
		p.refuse(actions.BlockTarget, t, before, "cannot give up its room to itself")
		return
	case p.req.Options.Now:
		p.block(actions.BlockInput, "--now would let the preempted job take its own room back: leave it out")
		return
	}
	if !p.requeueable(t, j, before) {
		return
	}
	p.verdict(t, actions.FateAct, before, "")
	p.stops(j)
	p.freed += j.GPUs.Held
	p.requeueSteps(t, j, p.warnJobSteps(t, j))
}

// warnJobSteps sends the signal and gives the job time to save.
func (p *planner) warnJobSteps(t actions.Target, j *fleet.Job) []int {
	signal := signalName(p.req.Options.Signal)
	if signal == "" {
		p.warn("%s gets no signal before it is stopped: add --signal USR1 --grace 2m if it saves on one", j.ID)
		return nil
	}
	grace := p.req.Options.Grace
	if grace <= 0 {
		grace = defaultGrace
	}
	p.plan.Timeout += grace
	sent := p.step(cancelStep(t, j, sendID(j), signal))
	return []int{p.step(actions.Step{
		Name: fmt.Sprintf("give %s %s to save", j.ID, grace), Op: opGrace, Target: t, Needs: []int{sent},
		WaitOnly: true, Grace: grace,
		Args:   map[string]string{"id": sendID(j), "restarts": strconv.Itoa(j.Restarts)},
		Expect: "the time is over, or the job has left by itself",
	})}
}

// handOver watches the job that is to get the room, once the victims are gone.
func (p *planner) handOver(heir *fleet.Job) {
	if heir.GPUs.Wanted > p.freed+p.freeGPUs() {
		p.warn("%s wants %d GPUs; this frees %d and %d are free now: it may still not fit",
			heir.ID, heir.GPUs.Wanted, p.freed, p.freeGPUs())
	}
	all := make([]int, len(p.plan.Steps))
	for i := range all {
		all[i] = i + 1
	}
	p.note("the room is meant for %s", describe(heir))
	p.step(actions.Step{
		Name: "wait until " + heir.ID + " starts", Op: opStarted, WaitOnly: true, Needs: all,
		Target: actions.Target{Kind: fleet.KindJob, Cluster: p.cluster, Name: heir.ID, Job: heir.Key},
		Args:   map[string]string{"id": sendID(heir)},
		Expect: heir.ID + " runs",
	})
}

// freeGPUs counts what the cluster would give out now.
func (p *planner) freeGPUs() int {
	n := 0
	for _, node := range p.snap.Nodes {
		if v := node.View(p.cluster); v != nil {
			if c := v.Condition(); c == fleet.CondFree || c == fleet.CondBusy {
				n += v.GPUs.Free()
			}
		}
	}
	return n
}
