package triage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

var now = time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)

// pending is a waiting job for 64 GPUs.
func pending(code, text string) *fleet.Job {
	return &fleet.Job{
		Key: fleet.JobKey{Cluster: "ai", ID: "5120"}, ID: "5120", Kind: fleet.Slurm, Name: "vlm", User: "alice", Queue: "gpu", QOS: "normal",
		Base: fleet.JobPending, Reason: fleet.PendingReason{Code: code, Text: text}, GPUs: fleet.GPUDemand{Wanted: 64},
	}
}

func runningJob(id, user string, gpus int, nodes ...string) *fleet.Job {
	return &fleet.Job{
		Key: fleet.JobKey{Cluster: "ai", ID: id}, ID: id, Kind: fleet.Slurm, User: user, Queue: "gpu", QOS: "normal",
		Base: fleet.JobRunning, GPUs: fleet.GPUDemand{Wanted: gpus, Held: gpus}, Nodes: nodes,
	}
}

func node(name, base string, reason fleet.Reason, flags ...string) *fleet.Node {
	return &fleet.Node{Name: name, Views: []fleet.View{{
		Cluster: "ai", Kind: fleet.Slurm, Node: name, Base: base, Flags: flags, Reason: reason,
		Queues: []string{"gpu"}, GPUs: fleet.GPUCount{Total: 8},
	}}}
}

func fleetOf(nodes []*fleet.Node, jobs ...*fleet.Job) *fleet.Snapshot {
	return fleet.NewSnapshot(fleet.Snapshot{
		At: now, Nodes: nodes, Jobs: jobs,
		Sources: []fleet.SourceState{{Name: "ai", Cluster: "ai", Status: fleet.SourceLive, LastSuccess: now}},
		Clusters: []fleet.Cluster{{
			Name:       "ai",
			QOS:        []fleet.QOS{{Name: "normal", GPUsPerUser: 32, GPUsPerGroup: -1, MaxJobsPerUser: 4, MaxSubmitPerUser: -1}},
			Partitions: []fleet.Partition{{Name: "gpu", MaxTime: fleet.Limit{Kind: fleet.LimitSet, Duration: 24 * time.Hour}}},
		}},
	})
}

// reasonCodes are the codes of squeue(1) and of libslurm 22.05, and those that later
// versions added.
const reasonCodes = `AccountNotAllowed AccountingPolicy AssocGrpBB AssocGrpBillingRunMinutes AssocGrpCPUMinutesLimit
AssocGrpCPURunMinutesLimit AssocGrpCpuLimit AssocGrpGRES AssocGrpGRESMinutes AssocGrpGRESRunMinutes AssocGrpJobsLimit
AssocGrpMemLimit AssocGrpNodeLimit AssocGrpSubmitJobsLimit AssocGrpWallLimit AssocMaxBBPerJob AssocMaxCpuMinutesPerJobLimit
AssocMaxCpuPerJobLimit AssocMaxCpuPerNode AssocMaxGRESPerJob AssocMaxGRESPerNode AssocMaxJobsLimit AssocMaxMemPerJob
AssocMaxNodePerJobLimit AssocMaxSubmitJobLimit AssocMaxWallDurationPerJobLimit AssociationJobLimit AssociationResourceLimit
AssociationTimeLimit BadConstraints BeginTime BurstBufferOperation BurstBufferResources BurstBufferStageIn Cleaning DeadLine
Dependency DependencyNeverSatisfied FedJobLock FrontEndDown InactiveLimit InvalidAccount InvalidQOS JobArrayTaskLimit
JobHeldAdmin JobHeldUser JobHoldMaxRequeue JobLaunchFailure Licenses MaxBillingPerAccount MaxCpuPerAccount MaxGRESPerAccount
MaxJobsPerAccount MaxMemPerLimit MaxNodePerAccount MaxSubmitJobsPerAccount NodeDown NonZeroExitCode PartitionConfig PartitionDown
PartitionInactive PartitionNodeLimit PartitionTimeLimit PowerNotAvail PowerReserved Priority Prolog QOSGrpBB
QOSGrpCPUMinutesLimit QOSGrpCPURunMinutesLimit QOSGrpCpuLimit QOSGrpGRES QOSGrpGRESRunMinutes QOSGrpJobsLimit QOSGrpMemLimit
QOSGrpMemoryMinutes QOSGrpNodeLimit QOSGrpSubmitJobsLimit QOSGrpWallLimit QOSJobLimit QOSMaxCpuMinutesPerJobLimit
QOSMaxCpuPerJobLimit QOSMaxCpuPerNode QOSMaxCpuPerUserLimit QOSMaxGRESMinutesPerJob QOSMaxGRESPerJob QOSMaxGRESPerNode
QOSMaxGRESPerUser QOSMaxJobsPerUserLimit QOSMaxMemoryPerUser QOSMaxNodePerJobLimit QOSMaxNodePerUserLimit
QOSMaxSubmitJobPerUserLimit QOSMaxWallDurationPerJobLimit QOSMinCpuNotSatisfied QOSMinGRES QOSMinNode QOSNotAllowed
QOSResourceLimit QOSTimeLimit QOSUsageThreshold RaisedSignal ReqNodeNotAvail Reservation ReservationDeleted Resources SchedDefer
SystemFailure TimeLimit WaitingForScheduling job_requeued_in_held_state launch_failed_requeued_held`

func TestEveryReasonCodeIsExplained(t *testing.T) {
	s := fleetOf(nil)
	for code := range strings.FieldsSeq(reasonCodes) {
		e := ExplainPending(pending(code, ""), s)
		if e.Plain == "" || e.Next == "" || strings.HasPrefix(e.Plain, "Slurm says") || e.NeedsOperator != (e.Severity != fleet.Info) {
			t.Errorf("%s: %+v", code, e)
		}
		ExplainPending(pending(code, ""), nil)
	}
}

func TestExplainPendingWords(t *testing.T) {
	s := fleetOf(
		[]*fleet.Node{
			node("n1", fleet.BaseIdle, fleet.Reason{}),
			node("n2", fleet.BaseDown, fleet.Reason{Text: "Not responding"}, fleet.FlagNotResponding),
			node("n3", fleet.BaseMixed, fleet.Reason{}),
		},
		runningJob("1", "alice", 24, "n3"), runningJob("2", "bob", 512), &fleet.Job{Key: fleet.JobKey{Cluster: "ai", ID: "7"}, Base: fleet.JobFailed},
	)
	with := func(j *fleet.Job, change func(*fleet.Job)) *fleet.Job { change(j); return j }
	for name, c := range map[string]struct {
		job      *fleet.Job
		plain    string
		next     string
		operator bool
	}{
		"resources": {pending("Resources", ""), "waits for 64 GPUs: 16 free in gpu (8 out of service)", "it starts when", false},
		"estimate": {
			with(pending("Resources", ""), func(j *fleet.Job) { j.EstStart, j.SchedNodes = now, "n[1-2]" }),
			"waits for 64 GPUs", "expects to start it at 2026-11-30 14:00Z on n[1-2]", false,
		},
		"no gpus":  {with(pending("Priority", ""), func(j *fleet.Job) { j.GPUs.Wanted, j.NodeCount = 0, 3 }), "waits for 3 nodes; jobs with a higher priority", "priority", false},
		"qos gres": {pending("QOSMaxGRESPerUser", ""), "GPUs or other GRES of one user, and that is reached (QOSMaxGRESPerUser): at most 32 GPUs in QOS normal, alice holds 24", "earlier jobs", false},
		"qos jobs": {pending("QOSMaxJobsPerUserLimit", ""), "at most 4 running jobs in QOS normal", "", false},
		"no limit": {pending("QOSGrpGRES", ""), "all its jobs together, and that is reached (QOSGrpGRES)", "", false},
		"per job":  {pending("QOSMaxGRESPerJob", ""), "asks for more GPUs or other GRES than the QOS allows one job", "asks for less", true},
		"minutes":  {pending("AssocGrpCPURunMinutesLimit", ""), "the account limits the CPUs times minutes still to run of all its jobs together", "", false},
		"minimum":  {pending("QOSMinGRES", ""), "asks for fewer GPUs or other GRES than the QOS wants", "", true},
		"unavailable": {
			pending("ReqNodeNotAvail", "UnavailableNodes:n[2-3],x1"),
			"needs nodes that are not available: n2 DOWN+NOT_RESPONDING (Not responding), n3 MIXED, x1 not known", "undrain", true,
		},
		"many":     {pending("ReqNodeNotAvail", "UnavailableNodes:x[1-9]"), "and 4 more", "", false},
		"reserved": {pending("ReqNodeNotAvail", "May be reserved for other job"), "may be reserved", "", false},
		"bare":     {with(pending("ReqNodeNotAvail", ""), func(j *fleet.Job) { j.ReqNodes = "n9" }), "in use, reserved or out of service", "n9", false},
		"depends": {
			with(pending("Dependency", ""), func(j *fleet.Job) { j.Dependency = "afterok:1(unfulfilled):9,after:7+10,singleton" }),
			"waits for other jobs: afterok 1 (RUNNING), afterok 9, after 7 (FAILED)", "", false,
		},
		"never":    {with(pending("DependencyNeverSatisfied", ""), func(j *fleet.Job) { j.Dependency = "afterok:7(failed)" }), "can never start", "dependency=", true},
		"begin":    {with(pending("BeginTime", ""), func(j *fleet.Job) { j.Restarts, j.Eligible = 1, now }), "2026-11-30 14:00:00Z: Slurm waits two minutes after a requeue", "--now", false},
		"array":    {with(pending("JobArrayTaskLimit", ""), func(j *fleet.Job) { j.Array = &fleet.ArrayRef{JobID: 8, Limit: 2} }), "at most 2 tasks", "jobid=8", false},
		"time":     {pending("PartitionTimeLimit", ""), "above that of partition gpu (24h0m0s)", "timelimit", true},
		"max":      {with(pending("JobHoldMaxRequeue", ""), func(j *fleet.Job) { j.Restarts = 5 }), "requeued too often (5 restarts", "release 5120", true},
		"user":     {pending("JobHeldUser", ""), "held by its user", "release 5120", true},
		"sentence": {pending("Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions", ""), "nodes that it needs are down", "bring nodes back", true},
		"new":      {pending("MoonPhase", "waning"), "Slurm says MoonPhase, waning", "squeue(1)", false},
		"nothing":  {pending("", ""), "not looked at it yet", "", false},
	} {
		e := ExplainPending(c.job, s)
		if !strings.Contains(e.Plain, c.plain) || !strings.Contains(e.Next, c.next) || e.NeedsOperator != c.operator {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if e := ExplainPending(pending("Resources", ""), s); len(e.Holders) != 2 || e.Holders[0].ID != "2" || e.Holders[1].ID != "1" {
		t.Errorf("the largest holder comes first: %+v", e.Holders)
	}
	if e := ExplainPending(runningJob("1", "alice", 8), s); e.Plain != "" || e.NeedsOperator {
		t.Errorf("a running job does not wait: %+v", e)
	}
}

func TestC23_HeldAfterFailedLaunch(t *testing.T) {
	j := pending("launch_failed_requeued_held", "")
	j.BatchHost, j.Restarts = "gn023", 1
	e := ExplainPending(j, nil)
	if !e.NeedsOperator || e.Severity != fleet.Critical || !strings.Contains(e.Plain, "held after a failed launch on gn023") ||
		!strings.Contains(e.Next, "gpuctl release 5120 --exclude gn023") {
		t.Errorf("%+v", e)
	}
	s := fleetOf([]*fleet.Node{node("gn023", fleet.BaseIdle, fleet.Reason{}), node("gn024", fleet.BaseIdle, fleet.Reason{})}, j)
	var rules []string
	for _, f := range Evaluate(s) {
		rules = append(rules, fmt.Sprint(f.Rule, " ", f.Subject.Name, " ", f.Blast.GPUs, " ", f.Actions[0]))
	}
	if got := strings.Join(rules, ", "); got != "slurm-job-held 5120 64 release, slurm-node-suspect gn023 8 drain" {
		t.Errorf("the node is marked too: %s", got)
	}
}

func BenchmarkExplain10kPending(b *testing.B) {
	jobs := []*fleet.Job{}
	for i := range 10_000 {
		jobs = append(jobs, runningJob(fmt.Sprint(i), "bob", 8))
	}
	s := fleetOf(nil, jobs...)
	j := pending("Priority", "")
	b.ReportAllocs()
	for b.Loop() {
		for range 10_000 {
			ExplainPending(j, s)
		}
	}
}
