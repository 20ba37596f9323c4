package slurm

import (
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// jobOf makes a job of one element of slurmctld's "jobs".
func jobOf(r record) fleet.Job {
	state := parseJobState(r.words("job_state")...)
	raw := r.num("job_id").or(0)
	id := jobIDOf(r, raw, state.Base)
	j := fleet.Job{
		Key:        fleet.JobKey{ID: id.Key(), Submit: r.num("submit_time").or(0)},
		Kind:       fleet.Slurm,
		ID:         id.String(),
		RawID:      raw,
		Array:      id.Array(),
		Het:        id.HetRef(),
		Name:       r.text("name"),
		User:       r.text("user_name", "user_id"),
		Account:    r.text("account"),
		Queue:      r.text("partition"),
		QOS:        r.text("qos"),
		Base:       state.Base,
		Flags:      state.Flags,
		Reason:     jobReason(r),
		Nodes:      nodesOf(r),
		NodeCount:  r.count("node_count"),
		CPUs:       r.count("cpus"),
		BatchHost:  r.text("batch_host"),
		ReqNodes:   r.text("required_nodes"),
		ExcNodes:   r.text("excluded_nodes"),
		SchedNodes: r.text("scheduled_nodes"),
		Submitted:  r.time("submit_time"),
		Eligible:   r.time("eligible_time"),
		Preempted:  r.time("preempt_time"),
		Limit:      jobLimit(r),
		Restarts:   r.count("restart_cnt"),
		Requeue:    r.flag("requeue"),
		Priority:   r.num("priority").or(0),
		Dependency: r.text("dependency"),
		Comment:    r.text("comment"),
		WorkDir:    r.text("current_working_directory"),
		Features:   r.text("features"),
		ExitCode:   -1,
	}
	setTimes(&j, r, "start_time", "end_time")
	if !j.Ended.IsZero() {
		j.ExitCode, j.Signal = exitOf(r)
	}
	odd := setResources(&j, r)
	j.StdOut, j.StdErr = outputs(r, &j)
	if raw == 0 {
		r.note("job_id", r.value("job_id"))
	}
	j.Oddities = joinOdd(r.oddities(), state.Odd, odd)
	return j
}

// setResources counts GPUs the way it is done for the commands' answers.
func setResources(j *fleet.Job, r record) (odd notes) {
	asked := jobText{
		alloc: r.text("tres_alloc_str"), req: r.text("tres_req_str"),
		perJob: r.text("tres_per_job"), perNode: r.text("tres_per_node"),
		perSocket: r.text("tres_per_socket"), perTask: gresOnly(r.text("tres_per_task")),
		tasks: strconv.Itoa(r.count("tasks")),
	}
	j.GPUs = asked.gpus(j, &odd)
	if j.CPUs == 0 { // 22.05 of a job that waits again
		j.CPUs = parseTRES(asked.req).CPUs
	}
	return odd
}

// jobIDOf takes a job's id apart: plain, array task, the waiting rest of an array,
// or het component. A rest that has ended may name no tasks any more; squeue then
// shows it by its plain id.
func jobIDOf(r record, raw int64, base string) jobID {
	id := jobID{Job: raw, Het: -1}
	array, het := r.num("array_job_id").or(0), r.num("het_job_id").or(0)
	switch {
	case array > 0 && (base == fleet.JobPending || r.num("array_task_id").told || r.text("array_task_string") != ""):
		id.Job = array
		arrayTasksOf(r, &id, raw, base)
	case het > 0:
		id.Job, id.Het = het, r.num("het_job_offset").or(0)
	}
	return id
}

// arrayTasksOf reads which tasks of an array the record stands for. A record that
// waits and still has the array's own id is the waiting rest, also when a single
// task is left of it, unless that task ran before.
func arrayTasksOf(r record, id *jobID, raw int64, base string) {
	if task := r.num("array_task_id"); task.told {
		id.Tasks = []taskRange{{task.n, task.n, 1}}
		id.Rest = raw == id.Job && base == fleet.JobPending && r.count("restart_cnt") == 0
	} else {
		text := r.text("array_task_string")
		tasks, limit, truncated, err := parseTasks(text)
		if err != nil {
			r.note("array_task_string", []byte(text))
		}
		id.Rest, id.Tasks, id.Limit, id.Truncated = true, tasks, limit, truncated
	}
	if throttle := r.count("array_max_tasks"); id.Rest && throttle > 0 {
		id.Limit = throttle
	}
}

// jobLimit reads a job's time limit, which 22.05 makes null when there is none.
func jobLimit(r record) fleet.Limit {
	if string(r.value("time_limit")) == "null" {
		return fleet.Limit{Kind: fleet.LimitNone}
	}
	return r.limit("time_limit")
}

// jobReason reads why a job is in its state. The description, when there is one,
// is what squeue and scontrol print in place of the bare reason.
func jobReason(r record) fleet.PendingReason {
	if d := r.text("state_description"); d != "" {
		return parsePendingReason(d)
	}
	return parsePendingReason(r.text("state_reason"))
}

// nodesOf expands the hosts a job holds. Since 24.05 they may be an object, and
// some answers have them only among the resources.
func nodesOf(r record) []string {
	list := r.text("nodes")
	if list == "" {
		list = r.at("job_resources").text("nodes")
	}
	hosts, err := fleet.ExpandHosts(list, fleet.MaxHosts)
	if err != nil {
		r.note("nodes", []byte(list))
	}
	return hosts
}

// setTimes sorts out what start and end mean: for a job that waits the start is an
// estimate, and until it has ended the end is one too.
func setTimes(j *fleet.Job, r record, start, end string) {
	switch {
	case j.Waiting():
		j.EstStart = r.time(start)
	case j.Base == fleet.JobRunning || j.Base == fleet.JobSuspended:
		j.Started = r.time(start)
	default:
		j.Started, j.Ended = r.time(start), r.time(end)
	}
}

// exitOf reads an exit code: the raw wait status of older versions, or an object.
// -1 means that none was told.
func exitOf(r record) (code, signal int) {
	if !r.has("exit_code") {
		return -1, 0
	}
	if raw := r.num("exit_code"); raw.told && r.value("exit_code")[0] != '{' {
		return int(raw.n >> 8 & 0xff), int(raw.n & 0x7f)
	}
	e := r.at("exit_code")
	sig := e.at("signal")
	signal = sig.count("id", "signal_id")
	ret := e.num("return_code")
	if !ret.told && signal == 0 {
		return -1, 0
	}
	return int(ret.or(0)), signal
}

// outputs are the paths of a job's output, as far as they are told. 22.05 leaves
// them empty for the default, which sbatch(1) documents. Waiting tasks have none yet.
func outputs(r record, j *fleet.Job) (stdout, stderr string) {
	if j.Array != nil && j.Array.Task < 0 {
		return "", ""
	}
	if r.has("stdout_expanded") {
		return r.text("stdout_expanded"), r.text("stderr_expanded")
	}
	stdout, stderr = r.text("standard_output"), r.text("standard_error")
	if stdout == "" && r.flag("batch_flag") && j.WorkDir != "" {
		stdout = "slurm-%j.out"
		if j.Array != nil {
			stdout = "slurm-%A_%a.out"
		}
	}
	if stderr == "" {
		stderr = stdout
	}
	return outputPath(stdout, j), outputPath(stderr, j)
}

// outputPath fills in the patterns of sbatch(1) that one job decides, and makes
// the path absolute.
func outputPath(path string, j *fleet.Job) string {
	if path == "" {
		return ""
	}
	if !strings.HasPrefix(path, "/") {
		path = strings.TrimSuffix(j.WorkDir, "/") + "/" + path
	}
	if !strings.Contains(path, "%") {
		return path
	}
	job := strconv.FormatInt(j.RawID, 10)
	array, task := job, strconv.Itoa(noVal) // what Slurm itself prints where there is no task
	if j.Array != nil {
		array, task = strconv.FormatInt(j.Array.JobID, 10), strconv.FormatInt(j.Array.Task, 10)
	}
	return strings.NewReplacer("%%", "%", "%j", job, "%J", job, "%A", array, "%a", task,
		"%u", j.User, "%x", j.Name).Replace(path)
}
