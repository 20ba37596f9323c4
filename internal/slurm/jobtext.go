package slurm

import (
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// jobText is one job as the commands print it, before anything is understood.
// squeue, scontrol and sacct each fill in what they tell.
type jobText struct {
	id                                    jobID
	idText, rawID                         string
	name, user, account, queue, qos       string
	state, reason, dependency, features   string
	alloc, req                            string // TRES lists
	perJob, perNode, perSocket, perTask   string // GRES lists as asked for
	nodes, numNodes, cpus, tasks          string
	batchHost, reqNodes, excNodes, sched  string
	submit, eligible, start, end, preempt string
	limit, restarts, requeue, priority    string
	exit, comment, workDir, out, errOut   string
	odd                                   notes
}

// job makes a job of the text.
func (t *jobText) job() fleet.Job {
	odd := t.odd
	state := parseJobState(t.state)
	odd.add(state.Odd...)
	j := fleet.Job{
		Kind: fleet.Slurm, ID: t.id.String(), RawID: odd.number("job id", clean(t.rawID)),
		Array: t.id.Array(), Het: t.id.HetRef(),
		Name: t.name, User: clean(t.user), Account: clean(t.account),
		Queue: clean(t.queue), QOS: clean(t.qos),
		Base: state.Base, Flags: state.Flags, Reason: parsePendingReason(t.reason),
		Nodes:     odd.hosts("nodes", t.nodes),
		NodeCount: int(odd.number("node count", clean(t.numNodes))),
		CPUs:      int(odd.number("cpus", clean(t.cpus))),
		BatchHost: clean(t.batchHost), ReqNodes: clean(t.reqNodes), ExcNodes: clean(t.excNodes),
		SchedNodes: clean(t.sched),
		Submitted:  odd.time("submit time", t.submit), Eligible: odd.time("eligible time", t.eligible),
		Preempted: odd.time("preempt time", t.preempt),
		Limit:     odd.limit("time limit", t.limit),
		Restarts:  int(odd.number("restarts", clean(t.restarts))), Requeue: t.requeue == "1",
		Priority:   odd.number("priority", clean(t.priority)),
		Dependency: clean(t.dependency), Comment: clean(t.comment),
		WorkDir: clean(t.workDir), StdOut: clean(t.out), StdErr: clean(t.errOut),
		Features: clean(t.features), ExitCode: -1,
	}
	if state.By != "" && j.Reason.Code == "" {
		j.Reason.Text = "by user " + state.By
	}
	t.setTimes(&j, &odd)
	j.GPUs = t.gpus(&j, &odd)
	j.Key = fleet.JobKey{ID: t.id.Key()}
	if !j.Submitted.IsZero() {
		j.Key.Submit = j.Submitted.Unix()
	}
	if t.id.Truncated {
		odd.add("the set of array tasks was cut short by Slurm")
	}
	j.Oddities = odd
	return j
}

// setTimes tells starts and ends from the scheduler's estimates of them.
func (t *jobText) setTimes(j *fleet.Job, odd *notes) {
	start, end := odd.time("start time", t.start), odd.time("end time", t.end)
	if j.Waiting() {
		j.EstStart = start
		return
	}
	j.Started = start
	if j.Base == fleet.JobRunning || j.Base == fleet.JobSuspended {
		return
	}
	j.Ended = end
	j.ExitCode, j.Signal = exitOfText(t.exit)
}

// exitOfText reads "3:0" (code and signal) or a raw wait status. The code is -1
// when none is told.
func exitOfText(text string) (code, signal int) {
	c, s, pair := strings.Cut(clean(text), ":")
	code, err := strconv.Atoi(c)
	if err != nil || code < 0 {
		return -1, 0
	}
	if !pair {
		return code >> 8 & 0xff, code & 0x7f
	}
	signal, err = strconv.Atoi(s)
	if err != nil || signal < 0 {
		return code, 0
	}
	return code, signal
}

// gpus reads what the job wants and holds. The TRES totals count for the whole
// job, and Slurm prints them for waiting jobs too. What the user asked for names
// the model, and stands in where the cluster does not track GPUs.
func (t *jobText) gpus(j *fleet.Job, odd *notes) fleet.GPUDemand {
	totals := odd.tres(clean(t.alloc)).GRES
	if len(totals) == 0 {
		totals = odd.tres(clean(t.req)).GRES
	}
	var asked []fleet.GRES
	for _, list := range []string{t.perJob, t.perNode, t.perSocket, t.perTask} {
		asked = append(asked, odd.gres(gresOnly(list))...)
	}
	var d fleet.GPUDemand
	d.Wanted, d.Model = countGPUs(totals)
	if _, model := countGPUs(asked); d.Model == "" {
		d.Model = model
	}
	switch {
	case hasMIGOnly(asked):
		d = fleet.GPUDemand{}
	case len(totals) == 0:
		d.Wanted = t.askedGPUs(j, odd)
	}
	if j.Active() {
		d.Held = d.Wanted
	}
	return d
}

// askedGPUs counts from the request alone.
func (t *jobText) askedGPUs(j *fleet.Job, odd *notes) int {
	perJob, _ := countGPUs(odd.gres(t.perJob))
	perNode, _ := countGPUs(odd.gres(t.perNode))
	perTask, _ := countGPUs(odd.gres(gresOnly(t.perTask)))
	switch {
	case perJob > 0:
		return perJob
	case perNode > 0:
		return perNode * j.NodeCount
	}
	return perTask * int(odd.number("tasks", clean(t.tasks)))
}

// gresOnly keeps the generic resources of a list: what is asked for per task also
// tells CPUs.
func gresOnly(list string) string {
	var keep []string
	for _, part := range splitTop(list) {
		if strings.HasPrefix(part, "gres") {
			keep = append(keep, part)
		}
	}
	return strings.Join(keep, ",")
}
