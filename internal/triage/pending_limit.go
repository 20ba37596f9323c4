package triage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// job and snapshot are short names for the dictionary's function literals.
type (
	job      = fleet.Job
	snapshot = fleet.Snapshot
)

// explainCodeAs explains an old code as the one that took its place.
func explainCodeAs(code string) explainer {
	return func(j *job, s *snapshot) Explanation {
		as := *j
		as.Reason.Code = code
		e, _ := explainLimit(&as, s)
		return e
	}
}

// scopes are how the codes of limits begin, and whom the limit is on. The longest
// come first.
var scopes = []struct{ prefix, suffix, who, per string }{
	{"QOSMax", "PerUser", "the QOS", "one user"},
	{"QOSMax", "PerUserLimit", "the QOS", "one user"},
	{"QOSMax", "PerJob", "the QOS", "one job"},
	{"QOSMax", "PerJobLimit", "the QOS", "one job"},
	{"QOSMax", "PerNode", "the QOS", "one node of a job"},
	{"QOSMax", "PerAccount", "the QOS", "one account"},
	{"QOSGrp", "", "the QOS", "all its jobs together"},
	{"AssocGrp", "", "the account", "all its jobs together"},
	{"AssocMax", "PerJob", "the account", "one job"},
	{"AssocMax", "PerJobLimit", "the account", "one job"},
	{"AssocMax", "PerNode", "the account", "one node of a job"},
	{"AssocMax", "Limit", "the account", "one user"},
	{"Max", "PerAccount", "the QOS", "one account"},
}

// resources are how codes spell what is limited.
var resources = map[string]string{
	"GRES": "GPUs or other GRES", "Cpu": "CPUs", "CPU": "CPUs", "CPUs": "CPUs", "Mem": "memory", "Memory": "memory",
	"Node": "nodes", "Nodes": "nodes", "Jobs": "running jobs", "SubmitJob": "submitted jobs", "SubmitJobs": "submitted jobs",
	"Wall": "run time", "WallDuration": "run time", "Billing": "billing units", "BB": "burst buffer", "License": "licences",
	"Energy": "energy", "Unknown": "some resource",
}

// explainLimit covers the codes that are spelled by a rule, such as
// QOSMaxGRESPerUser or AssocGrpCPURunMinutesLimit.
func explainLimit(j *fleet.Job, s *fleet.Snapshot) (Explanation, bool) {
	code := j.Reason.Code
	if what, ok := strings.CutPrefix(code, "QOSMin"); ok {
		what = strings.TrimSuffix(strings.TrimSuffix(what, "NotSatisfied"), "PerJob")
		return stuck(fmt.Sprintf("asks for fewer %s than the QOS wants a job to (%s)", resource(what), code), "its owner asks for more, or changes the QOS"), true
	}
	i := slices.IndexFunc(scopes, func(sc struct{ prefix, suffix, who, per string }) bool {
		return strings.HasPrefix(code, sc.prefix) && strings.HasSuffix(code, sc.suffix) && len(code) > len(sc.prefix)+len(sc.suffix)
	})
	if i < 0 {
		return Explanation{}, false
	}
	sc := scopes[i]
	what := strings.TrimSuffix(strings.TrimPrefix(code, sc.prefix), sc.suffix)
	what = strings.TrimSuffix(what, "Limit")
	e := waits(fmt.Sprintf("%s limits the %s of %s, and that is reached (%s)", sc.who, resource(what), sc.per, code),
		"it becomes eligible when earlier jobs end")
	if sc.per == "one job" || sc.per == "one node of a job" {
		e = stuck(fmt.Sprintf("asks for more %s than %s allows %s (%s)", resource(what), sc.who, sc.per, code),
			"its owner asks for less, or an administrator raises the limit")
	}
	e.Plain += numbers(j, s)
	return e, true
}

// resource spells what is limited: "GRESRunMinutes" is GPUs by time.
func resource(code string) string {
	name, words := code, ""
	for _, by := range []struct{ suffix, words string }{
		{"RunMinutes", " times minutes still to run"}, {"Minutes", " times minutes"},
	} {
		if cut, ok := strings.CutSuffix(code, by.suffix); ok {
			name, words = cut, by.words
			break
		}
	}
	return cmp.Or(resources[name], name) + words
}

// numbers adds the limit and what is held, where the QOS tells them.
func numbers(j *fleet.Job, s *fleet.Snapshot) string {
	q := qosOf(j, s)
	if q == nil {
		return ""
	}
	switch j.Reason.Code {
	case "QOSMaxGRESPerUser":
		return gpuNumbers(q.GPUsPerUser, s.HeldBy(j.Key.Cluster, j.QOS, j.User), j.User+" holds", q.Name)
	case "QOSGrpGRES":
		return gpuNumbers(q.GPUsPerGroup, s.HeldBy(j.Key.Cluster, j.QOS, ""), "its jobs hold", q.Name)
	case "QOSMaxJobsPerUserLimit":
		return countNumbers(q.MaxJobsPerUser, "running jobs", q.Name)
	case "QOSMaxSubmitJobPerUserLimit":
		return countNumbers(q.MaxSubmitPerUser, "submitted jobs", q.Name)
	}
	return ""
}

func gpuNumbers(limit, held int, who, qos string) string {
	if limit < 0 {
		return ""
	}
	return fmt.Sprintf(": at most %d GPUs in QOS %s, %s %d", limit, qos, who, held)
}

func countNumbers(limit int, what, qos string) string {
	if limit < 0 {
		return ""
	}
	return fmt.Sprintf(": at most %d %s in QOS %s", limit, what, qos)
}

func qosOf(j *fleet.Job, s *fleet.Snapshot) *fleet.QOS {
	c := s.Cluster(j.Key.Cluster)
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.QOS, func(q fleet.QOS) bool { return q.Name == j.QOS })
	if i < 0 {
		return nil
	}
	return &c.QOS[i]
}

// partitionOf is the first of the job's partitions that is known.
func partitionOf(j *fleet.Job, s *fleet.Snapshot) *fleet.Partition {
	c := s.Cluster(j.Key.Cluster)
	if c == nil {
		return nil
	}
	for q := range strings.SplitSeq(j.Queue, ",") {
		if i := slices.IndexFunc(c.Partitions, func(p fleet.Partition) bool { return p.Name == q }); i >= 0 {
			return &c.Partitions[i]
		}
	}
	return nil
}

func explainArrayLimit(j *fleet.Job, _ *fleet.Snapshot) Explanation {
	if j.Array == nil || j.Array.Limit == 0 {
		return waits("its array runs as many tasks at once as it may", "the next task starts when one ends")
	}
	return waits(fmt.Sprintf("its array runs at most %d tasks at once", j.Array.Limit),
		fmt.Sprintf("the next task starts when one ends; scontrol update arraytaskthrottle=N jobid=%d changes that", j.Array.JobID))
}

func explainPartitionNodes(j *fleet.Job, _ *fleet.Snapshot) Explanation {
	return stuck(fmt.Sprintf("asks for %d nodes, which partition %s does not allow, or its nodes are down or drained", max(1, j.NodeCount), j.Queue),
		"its owner asks for fewer nodes or another partition; or bring nodes back")
}

func explainPartitionTime(j *fleet.Job, s *fleet.Snapshot) Explanation {
	plain := "its time limit is above that of partition " + j.Queue
	if p := partitionOf(j, s); p != nil && p.MaxTime.Kind == fleet.LimitSet {
		plain += " (" + p.MaxTime.Duration.String() + ")"
	}
	return stuck(plain, "shorten it: scontrol update jobid="+j.ID+" timelimit=TIME")
}

func explainPartitionState(state string) explainer {
	return func(j *job, _ *snapshot) Explanation {
		return stuck(fmt.Sprintf("partition %s is %s: nothing starts in it", j.Queue, state),
			"open it: scontrol update partitionname="+j.Queue+" state=up")
	}
}

func explainReservation(*fleet.Job, *fleet.Snapshot) Explanation {
	return waits("waits for its reservation to begin", "it starts when the reservation does")
}
