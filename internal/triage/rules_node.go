package triage

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// nodeTrouble finds nodes that do not work or do not take work: one finding for each
// view, the most special that holds.
func nodeTrouble(s *fleet.Snapshot) []fleet.Finding {
	var out []fleet.Finding
	for _, n := range s.Nodes {
		for i := range n.Views {
			v := &n.Views[i]
			if v.Kind != fleet.Slurm {
				continue
			}
			if f, ok := viewTrouble(n, v, s); ok {
				out = append(out, f)
			}
		}
	}
	return out
}

func viewTrouble(n *fleet.Node, v *fleet.View, s *fleet.Snapshot) (fleet.Finding, bool) {
	why := ExplainNodeReason(v.Reason)
	rule, says := judgeView(v, why)
	if rule == "" {
		return fleet.Finding{}, false
	}
	if rule == RuleNodeNoResponse && !why.Known { // the reason is an older one
		why = ExplainNodeReason(fleet.Reason{Text: "Not responding"})
	}
	f := finding(rule, fleet.Warning, fleet.KindNode, v.Cluster, n.Name)
	f.Title = n.Name + " " + says
	f.Evidence = evidence(v, s)
	f.Advice = why.Advice
	if why.UndoneBy != "" {
		f.Evidence = append(f.Evidence, "undone by: "+why.UndoneBy)
	}
	f.Since = v.Reason.At
	if f.Since.IsZero() {
		f.Since = sinceEvent(s, fleet.Subject{Kind: fleet.KindNode, Cluster: v.Cluster, Name: v.Node})
	}
	f.Blast, f.Severity = costOf(n, v, rule, why, s)
	f.Actions = actionsFor(v, f.Blast.Jobs > 0)
	return f, true
}

// judgeView picks the rule and says in words what is the matter.
func judgeView(v *fleet.View, why NodeReason) (rule, says string) {
	reason := strings.ToLower(v.Reason.Text)
	restarting := v.Has(fleet.FlagPoweredDown) || v.Has(fleet.FlagPoweringDown) || v.Has(fleet.FlagPoweringUp) ||
		v.Has(fleet.FlagRebootIssued)
	switch {
	case restarting && !v.Has(fleet.FlagFail) && v.Base != fleet.BaseInval:
		return "", "" // silence is what is to be expected
	case v.Base == fleet.BaseInval, v.Has(fleet.FlagInvalidReg), strings.HasPrefix(reason, "gres/gpu count reported lower"):
		return RuleNodeInvalid, "registered with less than is configured: " + why.Plain
	case v.Has(fleet.FlagDrain) && strings.Contains(reason, "kill task failed"):
		return RuleKillTaskFailed, "is drained: a process could not be killed"
	case v.Has(fleet.FlagNotResponding):
		return RuleNodeNoResponse, "does not answer slurmctld"
	case v.Base == fleet.BaseDown, v.Base == fleet.BaseError:
		return RuleNodeDown, "is down: " + why.Plain
	case v.Has(fleet.FlagFail):
		return RuleNodeFailing, "is marked as failing: " + why.Plain
	case v.Draining():
		return RuleNodeDraining, "is draining, work is still on it: " + byWhom(v, why)
	case v.Drained():
		return RuleNodeDrained, "is drained: " + byWhom(v, why)
	}
	return "", ""
}

func byWhom(v *fleet.View, why NodeReason) string {
	if why.Owner == "" || strings.Contains(why.Plain, why.Owner) {
		return why.Plain
	}
	if v.Reason.Author != "" && v.Reason.Author != why.Owner {
		return fmt.Sprintf("%s (%s, written by %s)", why.Plain, why.Owner, v.Reason.Author)
	}
	return fmt.Sprintf("%s (%s)", why.Plain, why.Owner)
}

func evidence(v *fleet.View, s *fleet.Snapshot) []string {
	out := []string{v.Cluster + ": " + stateOf(v)}
	if v.Reason.Author != "" {
		out = append(out, "reason written by "+v.Reason.Author)
	}
	if src := s.SourceOf(v.Cluster); src != nil && src.Status == fleet.SourceDown {
		out = append(out, "as of "+src.LastSuccess.UTC().Format("15:04:05Z")+", the cluster does not answer")
	}
	return out
}

// costOf is what the trouble costs and how bad that is. A node that does not work
// stops its jobs, on every node that they hold; a drain stops nobody.
func costOf(n *fleet.Node, v *fleet.View, rule string, why NodeReason, s *fleet.Snapshot) (fleet.Blast, fleet.Severity) {
	var jobs []*fleet.Job
	for _, j := range s.JobsOn(n.Name) {
		if j.Key.Cluster == v.Cluster {
			jobs = append(jobs, j)
		}
	}
	b := blastOf(jobs)
	if !v.Faulty() {
		b.GPUs = v.GPUs.Total
	}
	b.GPUs = max(b.GPUs, v.GPUs.Total)
	switch {
	case v.Faulty() && len(jobs) > 0:
		return b, fleet.Critical
	case (rule == RuleNodeDraining || rule == RuleNodeDrained) && ownedByPerson(why):
		return b, fleet.Info // somebody knows what they do
	}
	return b, fleet.Warning
}

// ownedByPerson reports a reason that a person wrote, by hand or with gpuctl.
func ownedByPerson(why NodeReason) bool {
	switch why.Owner {
	case "", "root", "slurmctld", "slurmd", "NHC", "SUNK", "slurm-operator", "soperator":
		return false
	}
	return true
}

func actionsFor(v *fleet.View, jobs bool) []string {
	var out []string
	if v.Has(fleet.FlagDrain) {
		out = append(out, "undrain")
	} else {
		out = append(out, "drain")
	}
	if v.Faulty() && jobs {
		out = append(out, "requeue")
	}
	return out
}

// suspects finds nodes on which jobs failed to launch, and which nothing else is said
// of: the next job may fail there too.
func suspects(s *fleet.Snapshot) []fleet.Finding {
	failed := map[string][]*fleet.Job{} // by host name
	var order []*fleet.Node
	for _, j := range s.Jobs {
		if !j.Waiting() || j.BatchHost == "" || j.Reason.Code != "launch_failed_requeued_held" {
			continue
		}
		n := s.Node(j.BatchHost)
		if n == nil || n.Condition() <= fleet.CondDraining {
			continue // unknown, or out of service already
		}
		if failed[n.Name] == nil {
			order = append(order, n)
		}
		failed[n.Name] = append(failed[n.Name], j)
	}
	var out []fleet.Finding
	for _, n := range order {
		jobs := failed[n.Name]
		f := finding(RuleNodeSuspect, fleet.Warning, fleet.KindNode, jobs[0].Key.Cluster, n.Name)
		f.Title = fmt.Sprintf("%s may be bad: %s failed to launch on it", n.Name, jobWords(jobs))
		for _, j := range jobs[:min(len(jobs), maxEvidence)] {
			f.Evidence = append(f.Evidence, fmt.Sprintf("job %s: %s", j.ID, words(j.Reason)))
		}
		f.Blast = fleet.Blast{GPUs: n.GPUCount().Total}
		f.Advice = "drain it until somebody has looked at slurmd's log"
		f.Actions = []string{"drain"}
		out = append(out, f)
	}
	return out
}

func jobWords(jobs []*fleet.Job) string {
	if len(jobs) == 1 {
		return "job " + jobs[0].ID
	}
	return fmt.Sprintf("%d jobs", len(jobs))
}

func laterTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
