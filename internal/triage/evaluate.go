package triage

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// The rules, as they are named in Finding.Rule.
const (
	RuleSourceDown       = "source-down"
	RuleSourceStale      = "source-stale"
	RuleNotUnderstood    = "not-understood"
	RuleDisagree         = "views-disagree"
	RuleNodeInvalid      = "slurm-node-invalid"
	RuleKillTaskFailed   = "slurm-kill-task-failed"
	RuleNodeNoResponse   = "slurm-node-not-responding"
	RuleNodeDown         = "slurm-node-down"
	RuleNodeFailing      = "slurm-node-failing"
	RuleNodeDraining     = "slurm-node-draining"
	RuleNodeDrained      = "slurm-node-drained"
	RuleNodeSuspect      = "slurm-node-suspect"
	RuleJobHeld          = "slurm-job-held"
	RuleJobLoops         = "slurm-job-loops"
	RuleJobNeverEligible = "slurm-job-never-starts"
	RuleGRESCount        = "slurm-gres-differs"

	// About one device.
	RuleGPULost         = "gpu-lost"
	RuleGPUHanging      = "gpu-hanging"
	RuleGPUMissing      = "gpu-missing" // or about a node, when nobody can say which
	RuleGPURecovery     = "gpu-recovery-due"
	RuleGPUXID          = "gpu-xid"
	RuleGPURemapFailed  = "gpu-row-remap-failed"
	RuleGPURemapPending = "gpu-row-remap-pending"
	RuleGPUPages        = "gpu-retired-pages"
	RuleGPUECC          = "gpu-ecc"
	RuleGPUNVLink       = "gpu-nvlink-down"
	RuleGPUPCIe         = "gpu-pcie"
	RuleGPUThrottle     = "gpu-throttled"
	RuleGPUHot          = "gpu-hot"
	RuleGPUCheck        = "gpu-check-failed"
	RuleGPUFault        = "gpu-fault"
	RuleGPUTwoOwners    = "gpu-two-owners"
	RuleMIGPending      = "mig-pending"

	// About the devices of a node together, or its agent.
	RuleNVSwitch    = "nvswitch-sxid"
	RuleFabric      = "gpu-fabric-bad"
	RulePersistence = "gpu-persistence-off"
	RuleDriver      = "gpu-driver"
	RuleAgentGone   = "agent-gone"
	RuleAgentBlind  = "agent-blind"
)

// rule finds one kind of trouble in a snapshot.
type rule func(*fleet.Snapshot) []fleet.Finding

// rules in no order that matters: findings are sorted by what they cost.
func rules() []rule {
	return []rule{
		sourceTrouble, notUnderstood, disagreements, nodeTrouble, suspects, jobTrouble,
		deviceTrouble, hostTrouble, gresTrouble,
	}
}

// Evaluate lists what is wrong: worst severity first, then by the GPUs it costs. A
// root cause stands alone: of several things that can be said of a node the most
// special is said, and what cannot be judged while a source is down is not.
func Evaluate(s *fleet.Snapshot) []fleet.Finding {
	var out []fleet.Finding
	for _, r := range rules() {
		out = append(out, r(s)...)
	}
	slices.SortStableFunc(out, func(a, b fleet.Finding) int {
		return cmp.Or(
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(b.Blast.GPUs, a.Blast.GPUs),
			cmp.Compare(b.Blast.Jobs, a.Blast.Jobs),
			fleet.CompareNatural(a.Subject.Name, b.Subject.Name),
			cmp.Compare(a.ID, b.ID),
		)
	})
	return out
}

// finding starts a Finding of a rule about a subject.
func finding(rule string, sev fleet.Severity, kind fleet.Kind, cluster, name string) fleet.Finding {
	return fleet.Finding{
		ID: rule + "/" + cluster + "/" + name, Rule: rule, Severity: sev,
		Subject: fleet.Subject{Kind: kind, Cluster: cluster, Name: name},
	}
}

// blastOf is what the jobs cost together: all their GPUs, wherever they are.
func blastOf(jobs []*fleet.Job) fleet.Blast {
	b := fleet.Blast{Jobs: len(jobs)}
	for _, j := range jobs {
		b.GPUs += max(j.GPUs.Held, waitingGPUs(j))
		if j.User != "" && !slices.Contains(b.Users, j.User) {
			b.Users = append(b.Users, j.User)
		}
	}
	slices.Sort(b.Users)
	return b
}

func waitingGPUs(j *fleet.Job) int {
	if j.Waiting() {
		return j.GPUs.Wanted
	}
	return 0
}

// down reports whether the cluster's source is down: nothing new is known of it.
func down(s *fleet.Snapshot, cluster string) bool {
	src := s.SourceOf(cluster)
	return src != nil && src.Status == fleet.SourceDown
}

// sinceEvent is when the timeline last told of a change of the subject's state.
func sinceEvent(s *fleet.Snapshot, subject fleet.Subject) time.Time {
	for i := len(s.Timeline) - 1; i >= 0; i-- {
		if e := &s.Timeline[i]; e.Subject == subject && e.What == "state" {
			return e.At
		}
	}
	return time.Time{}
}
