package triage

import (
	"fmt"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// maxRestarts is from which restart on a job is said to fail in a loop.
const maxRestarts = 3

// jobTrouble finds jobs that do not get on unless somebody acts. A job that a person
// holds is no trouble, and neither is a wait that ends by itself.
func jobTrouble(s *fleet.Snapshot) []fleet.Finding {
	var out []fleet.Finding
	for _, j := range s.Jobs {
		if j.Kind == fleet.Kubernetes {
			continue
		}
		switch {
		case heldBySlurm(j):
			out = append(out, heldJob(j, s))
		case j.Restarts >= maxRestarts && !j.Done():
			out = append(out, loopingJob(j))
		case j.Waiting() && j.Reason.Code == "DependencyNeverSatisfied":
			out = append(out, neverJob(j, s))
		}
	}
	return out
}

// heldBySlurm reports a job that slurmctld put on hold because it failed (C23).
func heldBySlurm(j *fleet.Job) bool {
	if !j.Waiting() {
		return false
	}
	switch j.Reason.Code {
	case "launch_failed_requeued_held", "JobHoldMaxRequeue":
		return true
	}
	return false
}

func heldJob(j *fleet.Job, s *fleet.Snapshot) fleet.Finding {
	why := ExplainPending(j, s)
	f := jobFinding(RuleJobHeld, fleet.Critical, j)
	f.Title = fmt.Sprintf("job %s %s", j.ID, why.Plain)
	f.Evidence = append(f.Evidence, words(j.Reason))
	if n := s.Node(j.BatchHost); n != nil && n.View(j.Key.Cluster) != nil {
		f.Evidence = append(f.Evidence, j.BatchHost+": "+stateOf(n.View(j.Key.Cluster)))
	}
	f.Advice = why.Next
	f.Actions = []string{"release", "cancel"}
	return f
}

func loopingJob(j *fleet.Job) fleet.Finding {
	f := jobFinding(RuleJobLoops, fleet.Warning, j)
	f.Title = fmt.Sprintf("job %s was started %d times and does not come through", j.ID, j.Restarts+1)
	f.Evidence = append(f.Evidence, fmt.Sprintf("Restarts=%d, %s", j.Restarts, j.Base))
	if j.BatchHost != "" {
		f.Evidence = append(f.Evidence, "last on "+j.BatchHost)
	}
	f.Advice = "look at its output and at the nodes that it failed on; hold it until then"
	f.Actions = []string{"hold", "cancel"}
	return f
}

func neverJob(j *fleet.Job, s *fleet.Snapshot) fleet.Finding {
	why := ExplainPending(j, s)
	f := jobFinding(RuleJobNeverEligible, fleet.Info, j)
	f.Title = fmt.Sprintf("job %s %s", j.ID, why.Plain)
	f.Advice = why.Next
	f.Actions = []string{"cancel"}
	return f
}

func jobFinding(rule string, sev fleet.Severity, j *fleet.Job) fleet.Finding {
	f := finding(rule, sev, fleet.KindJob, j.Key.Cluster, j.Key.ID)
	f.Subject.Name = j.ID // which changes while tasks of an array start
	f.Blast = blastOf([]*fleet.Job{j})
	f.Since = j.Eligible
	if f.Since.IsZero() {
		f.Since = j.Submitted
	}
	if j.User != "" {
		f.Evidence = []string{fmt.Sprintf("%s of %s, %d GPUs", j.Name, j.User, f.Blast.GPUs)}
	}
	return f
}
