package slurm

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// heldReasons are the pending reasons of a job that waits for a person.
var heldReasons = map[string]string{
	"JobHeldUser":                    "its owner",
	"JobHeldAdmin":                   "an administrator",
	"JobHoldMaxRequeue":              "Slurm, after too many requeues",
	"launch_failed_requeued_held":    "Slurm, after a failed launch",
	"job_requeued_in_held_state":     "a requeue into hold",
	"job requeued in held state":     "a requeue into hold",
	"launch failed requeued held":    "Slurm, after a failed launch",
	"ReservationDeleted":             "Slurm, for its reservation was deleted",
	"user_env_retrieval_failed_hold": "Slurm, for its environment could not be read",
}

// held reports whether a person must release the job, and who holds it.
func held(j *fleet.Job) (by string, ok bool) {
	if !j.Waiting() {
		return "", false
	}
	by, ok = heldReasons[j.Reason.Code]
	return by, ok
}

// hold keeps a waiting job from starting. Slurm takes a hold of a running job
// without a word and lets it run on, so that is refused here.
func (p *planner) hold(t actions.Target, j *fleet.Job) {
	before := jobState(j)
	switch by, ok := held(j); {
	case ok:
		p.skip(t, before, "already held by "+by)
		return
	case j.Active():
		p.refuse(actions.BlockTarget, t, before, "runs: a hold would not stop it; use requeue --hold or suspend")
		return
	case j.Done():
		p.refuse(actions.BlockTarget, t, before, "has ended")
		return
	}
	p.verdict(t, actions.FateAct, before, "")
	p.undoes(t)
	id := sendID(j)
	p.step(actions.Step{
		Name: "hold " + j.ID, Op: opHold, Target: t, Args: map[string]string{"id": id},
		Command: "scontrol hold " + quote(id),
		Expect:  "it waits, held",
	})
}

// release lets a held job run, at once when asked, and away from bad nodes.
func (p *planner) release(t actions.Target, j *fleet.Job) {
	before := jobState(j)
	by, ok := held(j)
	switch {
	case !ok && j.Waiting():
		p.skip(t, before, "not held")
		return
	case !ok:
		p.refuse(actions.BlockTarget, t, before, "does not wait: there is nothing to release")
		return
	case j.Reason.Code == "JobHeldAdmin" && !p.operatorOrMore():
		p.refuse(actions.BlockRight, t, before, "held by an administrator: releasing it needs AdminLevel=Operator")
		return
	}
	p.verdict(t, actions.FateAct, before, "held by "+by)
	p.undoes(t)
	if j.Reason.Code == "launch_failed_requeued_held" && j.BatchHost != "" && len(p.req.Options.Exclude) == 0 {
		p.warn("%s failed to launch on %s: release with --exclude %s, or it may land there again", j.ID, j.BatchHost, j.BatchHost)
	}
	needs := p.excludeStep(t, j, nil)
	needs = p.releaseStep(t, j, needs)
	if p.req.Options.Now {
		p.startNowStep(t, j, needs, 0)
	}
}

func (p *planner) releaseStep(t actions.Target, j *fleet.Job, needs []int) []int {
	id := sendID(j)
	return []int{p.step(actions.Step{
		Name: "release " + j.ID, Op: opRelease, Target: t, Needs: needs, Args: map[string]string{"id": id},
		Command: "scontrol release " + quote(id),
		Expect:  "nobody holds it",
	})}
}

// startNowStep lifts the begin time of a job, after a wait where one is given.
func (p *planner) startNowStep(t actions.Target, j *fleet.Job, needs []int, after time.Duration) {
	id := sendID(j)
	name, args := "let "+j.ID+" start now", map[string]string{"id": id}
	if after > 0 {
		name, args["after"] = "let "+j.ID+" start, after "+after.String(), after.String()
	}
	p.step(actions.Step{
		Name: name, Op: opStartNow, Target: t, Needs: needs, Args: args,
		Command: fmt.Sprintf("scontrol update jobid=%s starttime=now", quote(id)),
		Expect:  "it no longer waits for its begin time",
	})
}

// excludeStep adds the nodes of --exclude to the job's excluded nodes; without any
// it passes needs on.
func (p *planner) excludeStep(t actions.Target, j *fleet.Job, needs []int) []int {
	if len(p.req.Options.Exclude) == 0 {
		return needs
	}
	id, nodes := sendID(j), p.excluded(j)
	return []int{p.step(actions.Step{
		Name: "exclude " + fleet.FoldHosts(p.req.Options.Exclude) + " from " + j.ID, Op: opExclude, Target: t, Needs: needs,
		Args:    map[string]string{"id": id, "nodes": nodes},
		Command: fmt.Sprintf("scontrol update jobid=%s excnodelist=%s", quote(id), quote(nodes)),
		Expect:  "its excluded nodes are " + nodes,
	})}
}

// excluded is what the job excludes already plus what is asked for, folded.
func (p *planner) excluded(j *fleet.Job) string {
	var nodes []string
	records, err := p.full(j.ID)
	if err != nil {
		p.block(actions.BlockSource, fmt.Sprintf("job %s: the nodes that it excludes already cannot be read: %v", j.ID, err))
	}
	for i := range records {
		have, err := fleet.ExpandHosts(records[i].ExcNodes, fleet.MaxHosts)
		if err != nil {
			p.warn("%s excludes %q, which is not a host list: it is replaced", j.ID, records[i].ExcNodes)
		}
		nodes = append(nodes, have...)
	}
	nodes = append(nodes, p.req.Options.Exclude...)
	slices.SortFunc(nodes, fleet.CompareNatural)
	return fleet.FoldHosts(slices.Compact(nodes))
}

// sendID is the id to give to Slurm: as squeue shows it, but for the waiting rest
// of an array only its tasks. The bare number of an array's last task is the
// array's own id, so tasks are always named as ARRAY_TASK.
func sendID(j *fleet.Job) string {
	if j.Array != nil && j.Array.Task < 0 && j.Array.Tasks != "" {
		return fmt.Sprintf("%d_[%s]", j.Array.JobID, j.Array.Tasks)
	}
	return j.ID
}
