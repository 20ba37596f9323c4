package triage

import (
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Explanation says why a job waits.
type Explanation struct {
	Plain string // one sentence in plain words
	Next  string // what to do, or what will happen by itself
	// Holders are the jobs that hold the room it waits for, the largest first; a few.
	Holders []*fleet.Job
	// NeedsOperator is set when the job will not start unless somebody acts.
	NeedsOperator bool
	Severity      fleet.Severity
}

// maxHolders is how many jobs an Explanation names.
const maxHolders = 5

// ExplainPending explains why the job waits. A job that does not wait gives the zero
// Explanation; an unknown reason is shown as Slurm wrote it. s may be nil.
func ExplainPending(j *fleet.Job, s *fleet.Snapshot) Explanation {
	if !j.Waiting() {
		return Explanation{}
	}
	if s == nil {
		s = &fleet.Snapshot{}
	}
	if j.Reason.Absent() {
		return waits("the scheduler has not looked at it yet", "it will at its next cycle")
	}
	if explain, ok := explainers[j.Reason.Code]; ok {
		return explain(j, s)
	}
	if strings.HasPrefix(j.Reason.Code, "Nodes_required_for_job_are_DOWN") { // a sentence of Slurm's, and no code
		return explainNodesOut(j, s)
	}
	if e, ok := explainLimit(j, s); ok {
		return e
	}
	e := waits("Slurm says "+words(j.Reason), "see squeue(1), \"JOB REASON CODES\"")
	e.Severity = fleet.Warning // nobody here knows that it passes by itself
	return e
}

// words is the reason as Slurm wrote it.
func words(r fleet.PendingReason) string {
	if r.Text == "" || r.Text == r.Code {
		return r.Code
	}
	return r.Code + ", " + r.Text
}

// waits is a wait that ends by itself.
func waits(plain, next string) Explanation {
	return Explanation{Plain: plain, Next: next, Severity: fleet.Info}
}

// stuck is a wait that ends only when somebody acts.
func stuck(plain, next string) Explanation {
	return Explanation{Plain: plain, Next: next, Severity: fleet.Warning, NeedsOperator: true}
}

// explainer explains one reason code.
type explainer func(*fleet.Job, *fleet.Snapshot) Explanation

// says makes an explainer of an explanation that is the same for every job.
func says(e Explanation) explainer {
	return func(*fleet.Job, *fleet.Snapshot) Explanation { return e }
}

// explainResources covers waiting for room, first in line.
func explainResources(j *fleet.Job, s *fleet.Snapshot) Explanation {
	e := waits(wanted(j)+room(j, s), "it starts when enough of the jobs before it end")
	if !j.EstStart.IsZero() {
		e.Next = "Slurm expects to start it " + at(j) + planned(j)
	}
	e.Holders = holders(j, s)
	return e
}

// explainPriority covers waiting behind others.
func explainPriority(j *fleet.Job, s *fleet.Snapshot) Explanation {
	e := explainResources(j, s)
	e.Plain += "; jobs with a higher priority come first"
	if j.EstStart.IsZero() {
		e.Next = "it starts when the jobs before it have; a higher priority would move it up"
	}
	return e
}

func wanted(j *fleet.Job) string {
	switch {
	case j.GPUs.Wanted == 1:
		return "waits for 1 GPU"
	case j.GPUs.Wanted > 1:
		return fmt.Sprintf("waits for %d GPUs", j.GPUs.Wanted)
	}
	if j.NodeCount > 1 {
		return fmt.Sprintf("waits for %d nodes", j.NodeCount)
	}
	return "waits for 1 node"
}

// room tells how many GPUs its queues could give away now.
func room(j *fleet.Job, s *fleet.Snapshot) string {
	if j.GPUs.Wanted == 0 {
		return ""
	}
	var parts []string
	for q := range strings.SplitSeq(j.Queue, ",") {
		free, out := s.RoomIn(j.Key.Cluster, q)
		part := fmt.Sprintf("%d free in %s", free, q)
		if out > 0 {
			part += fmt.Sprintf(" (%d out of service)", out)
		}
		parts = append(parts, part)
	}
	return ": " + strings.Join(parts, ", ")
}

func holders(j *fleet.Job, s *fleet.Snapshot) []*fleet.Job {
	var out []*fleet.Job
	for q := range strings.SplitSeq(j.Queue, ",") {
		all := s.HoldersIn(j.Key.Cluster, q)
		out = append(out, all[:min(len(all), maxHolders-len(out))]...)
	}
	return out
}

// at is the estimated start; the zone is UTC on every screen that shows words.
func at(j *fleet.Job) string { return "at " + j.EstStart.UTC().Format("2006-01-02 15:04Z") }

func planned(j *fleet.Job) string {
	if j.SchedNodes == "" {
		return ""
	}
	return " on " + j.SchedNodes
}

// explainLaunchFailed is C23: not an ordinary wait.
func explainLaunchFailed(j *fleet.Job, _ *fleet.Snapshot) Explanation {
	where, exclude := "", "release it"
	if j.BatchHost != "" {
		where = " on " + j.BatchHost
		exclude = fmt.Sprintf("look at %[1]s, then release it without %[1]s: gpuctl release %[2]s --exclude %[1]s", j.BatchHost, j.ID)
	}
	e := stuck("held after a failed launch"+where+": it will not start by itself", exclude)
	e.Severity = fleet.Critical
	return e
}

func explainMaxRequeue(j *fleet.Job, _ *fleet.Snapshot) Explanation {
	e := stuck(fmt.Sprintf("held: it was requeued too often (%d restarts, MaxBatchRequeue)", j.Restarts),
		"find out why it fails, then release it: gpuctl release "+j.ID)
	if j.BatchHost != "" {
		e.Plain += ", last on " + j.BatchHost
	}
	e.Severity = fleet.Critical
	return e
}

func explainHeld(who string) explainer {
	return func(j *fleet.Job, _ *fleet.Snapshot) Explanation {
		return stuck("held by "+who, "gpuctl release "+j.ID)
	}
}

func explainBegin(j *fleet.Job, _ *fleet.Snapshot) Explanation {
	plain := "its begin time has not come"
	if !j.Eligible.IsZero() {
		plain = "begins at the earliest at " + j.Eligible.UTC().Format("2006-01-02 15:04:05Z")
	}
	if j.Restarts > 0 {
		return waits(plain+": Slurm waits two minutes after a requeue", "gpuctl requeue --now starts a requeued job at once")
	}
	return waits(plain, "it becomes eligible by itself")
}
