package slurm

import (
	"strconv"
	"strings"
)

// textDetails reads "scontrol -d show job": every record in full.
func textDetails(text string) []JobDetail {
	records, _ := splitEntries(text, "JobId")
	out := make([]JobDetail, 0, len(records))
	for _, raw := range records {
		out = append(out, entryJob(parseEntry(raw)))
	}
	return out
}

// entryJob makes a job of one record.
func entryJob(e *entry) JobDetail {
	user, _, _ := strings.Cut(e.get("UserId"), "(")
	t := jobText{
		rawID: e.get("JobId"), name: e.fields["JobName"], user: user,
		account: e.get("Account"), queue: e.get("Partition"), qos: e.get("QOS"),
		state: e.get("JobState"), reason: e.get("Reason"),
		dependency: e.get("Dependency"), features: e.get("Features"),
		alloc: e.get("AllocTRES", "TRES"), req: e.get("ReqTRES", "TRES"),
		perJob: e.get("TresPerJob"), perNode: e.get("TresPerNode"),
		perSocket: e.get("TresPerSocket"), perTask: e.get("TresPerTask"),
		nodes: e.get("NodeList"), numNodes: e.get("NumNodes"),
		cpus: e.get("NumCPUs"), tasks: e.get("NumTasks"),
		batchHost: e.get("BatchHost"), reqNodes: e.get("ReqNodeList"),
		excNodes: e.get("ExcNodeList"), sched: e.get("SchedNodeList"),
		submit: e.get("SubmitTime"), eligible: e.get("EligibleTime"),
		start: e.get("StartTime"), end: e.get("EndTime"), preempt: e.get("PreemptTime"),
		limit: e.get("TimeLimit"), restarts: e.get("Restarts"), requeue: e.get("Requeue"),
		priority: e.get("Priority"), exit: e.get("ExitCode"), comment: e.get("Comment"),
		workDir: e.get("WorkDir"), out: e.get("StdOut"), errOut: e.get("StdErr"),
		odd: e.odd,
	}
	if t.id = entryID(e, &t.odd); t.id.Rest {
		t.out, t.errOut = "", "" // no task has them yet: "slurm-8_4294967294.out"
	}
	d := JobDetail{Job: t.job(), Command: e.get("Command")}
	for _, line := range e.allocs {
		d.Alloc = append(d.Alloc, nodeAllocs(line, &d.Job.Oddities)...)
	}
	d.Raw = e.raw
	return d
}

// noTask is what scontrol prints of the rest of an array that was cancelled before
// any task of it was left (NO_VAL in slurm.h). squeue shows it by its plain id.
const noTask = "4294967294"

// entryID makes the id that squeue would show.
func entryID(e *entry, odd *notes) jobID {
	number := func(key string) int64 { return odd.number(key, e.get(key)) }
	id := jobID{Job: number("JobId"), Het: -1}
	switch {
	case e.get("HetJobId") != "":
		id.Job, id.Het = number("HetJobId"), number("HetJobOffset")
	case e.get("ArrayJobId") != "" && e.get("ArrayTaskId") != noTask:
		raw := id.Job
		id.Job = number("ArrayJobId")
		id.arrayTasks(e, raw, odd)
	}
	return id
}

// arrayTasks reads ArrayTaskId. A single number is a task that has started once,
// or the last one that waits: that one still has the array's own id.
func (id *jobID) arrayTasks(e *entry, raw int64, odd *notes) {
	text := e.get("ArrayTaskId")
	tasks, limit, truncated, err := parseTasks(text)
	odd.err("ArrayTaskId", err)
	id.Tasks, id.Truncated = tasks, truncated
	_, plain := parseNumber(text)
	waits := raw == id.Job && e.get("JobState") == "PENDING" && e.get("Restarts") == "0"
	if id.Rest = !plain || waits; id.Rest {
		id.Limit = limit
		if throttle, err := strconv.Atoi(e.get("ArrayTaskThrottle")); err == nil {
			id.Limit = throttle
		}
	}
}

// nodeAllocs reads "Nodes=gn[1-2] CPU_IDs=0-3 Mem=10240 GRES=gpu:h100:8(IDX:0-7)",
// which holds for each of the nodes.
func nodeAllocs(line string, oddities *[]string) []NodeAlloc {
	e := &entry{fields: make(map[string]string, 4)}
	e.line(line, true)
	odd := notes(*oddities)
	gres := odd.gres(e.get("GRES"))
	var out []NodeAlloc
	for _, node := range odd.hosts("Nodes", e.get("Nodes")) {
		out = append(out, NodeAlloc{Node: node, GRES: gres})
	}
	*oddities = odd
	return out
}
