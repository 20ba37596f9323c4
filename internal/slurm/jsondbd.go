package slurm

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// decodeQOS reads slurmdbd's answer with "qos" ("QOS" in 22.05).
func decodeQOS(r io.Reader) ([]fleet.QOS, answer, error) {
	return decodeList(r, "qos", qosOf)
}

// qosOf makes a QOS of its record. -1 is no limit.
func qosOf(r record) fleet.QOS {
	limits := r.at("limits")
	most := limits.at("max")
	jobs := most.at("jobs")
	return fleet.QOS{
		Name:             r.text("name"),
		Priority:         r.num("priority").or(0),
		GPUsPerUser:      gpuLimit(dbTRES(most.at("tres").at("per"), "user").GRES),
		GPUsPerGroup:     gpuLimit(dbTRES(most.at("tres"), "total").GRES),
		PreemptableQOS:   r.at("preempt").words("list"),
		GraceTime:        limits.span(time.Second, "grace_time"),
		MaxJobsPerUser:   int(jobs.at("active_jobs").at("per").num("user").or(-1)),
		MaxSubmitPerUser: int(jobs.at("per").num("user").or(-1)),
	}
}

// dbTRES reads slurmdbd's list of resources: {"type":"gres","name":"gpu","count":4}.
func dbTRES(r record, name string) tres {
	var t tres
	for _, item := range r.list(name) {
		n := item.num("count").or(0)
		switch item.text("type") {
		case "cpu":
			t.CPUs = int(n)
		case "mem":
			t.MiB = n
		case "node":
			t.Nodes = int(n)
		case "gres":
			gname, gtype, _ := strings.Cut(item.text("name"), ":")
			t.GRES = append(t.GRES, fleet.GRES{Name: gname, Type: gtype, Count: n})
		}
	}
	return t
}

// decodeRoles reads slurmdbd's answer with "users" and gives each user's role.
func decodeRoles(r io.Reader) (map[string]fleet.Role, answer, error) {
	roles := map[string]fleet.Role{}
	_, a, err := decodeList(r, "users", func(r record) struct{} {
		roles[r.text("name")] = roleOf(r.text("administrator_level"))
		return struct{}{}
	})
	return roles, a, err
}

// decodeAccounting reads slurmdbd's answer with "jobs".
func decodeAccounting(r io.Reader) ([]fleet.Job, answer, error) {
	return decodeList(r, "jobs", accountedOf)
}

// accountedOf makes a job of one run that slurmdbd recorded.
func accountedOf(r record) fleet.Job {
	when, state := r.at("time"), r.at("state")
	s := parseJobState(accountedState(state.words("current"))...)
	id := accountedID(r)
	alloc, req := dbTRES(r.at("tres"), "allocated"), dbTRES(r.at("tres"), "requested")
	j := fleet.Job{
		Key:       fleet.JobKey{ID: id.Key(), Submit: when.num("submission").or(0)},
		Kind:      fleet.Slurm,
		ID:        id.String(),
		RawID:     r.num("job_id").or(0),
		Array:     id.Array(),
		Het:       id.HetRef(),
		Name:      r.text("name"),
		User:      r.text("user"),
		Account:   r.text("account"),
		Queue:     r.text("partition"),
		QOS:       r.text("qos"),
		Base:      s.Base,
		Flags:     s.Flags,
		Reason:    accountedReason(r, s.Base),
		Nodes:     accountedNodes(r),
		NodeCount: r.count("allocation_nodes"),
		CPUs:      alloc.CPUs,
		Submitted: when.time("submission"),
		Eligible:  when.time("eligible"),
		Limit:     when.limit("limit"),
		Restarts:  r.count("restart_cnt"),
		Priority:  r.num("priority").or(0),
		Comment:   r.at("comment").text("job"),
		WorkDir:   r.text("working_directory"),
		StdOut:    r.text("stdout_expanded"),
		StdErr:    r.text("stderr_expanded"),
		Features:  r.text("constraints"),
		ExitCode:  -1,
	}
	if j.CPUs == 0 {
		j.CPUs = r.at("required").count("CPUs")
	}
	setTimes(&j, when, "start", "end")
	if len(j.Nodes) == 0 {
		j.Started = time.Time{} // it ended before it started; slurmdbd gives its end for both
	}
	if !j.Ended.IsZero() {
		j.ExitCode, j.Signal = accountedExit(r, s.Base)
	}
	j.GPUs = accountedGPUs(alloc, req, &j)
	if j.RawID == 0 {
		r.note("job_id", r.value("job_id"))
	}
	j.Oddities = joinOdd(r.oddities(), s.Odd)
	return j
}

// accountedReason is why a run is in its state, or who cancelled it.
func accountedReason(r record, base string) fleet.PendingReason {
	reason := parsePendingReason(r.at("state").text("reason"))
	if by := r.text("kill_request_user"); by != "" && base == fleet.JobCancelled && reason.Code == "" {
		reason.Text = "by user " + by
	}
	return reason
}

// accountedState is the state of a run. Newer versions say of a run that was
// requeued that the job is pending again; older ones, and sacct, just REQUEUED.
func accountedState(words []string) []string {
	if slices.Contains(words, fleet.JobFlagRequeued) {
		return []string{fleet.JobFlagRequeued}
	}
	return words
}

// accountedID takes the id of a recorded job apart.
func accountedID(r record) jobID {
	id := jobID{Job: r.num("job_id").or(0), Het: -1}
	array, het := r.at("array"), r.at("het")
	if master := array.num("job_id").or(0); master > 0 {
		id.Job = master
		if task := array.num("task_id"); task.told {
			id.Tasks = []taskRange{{task.n, task.n, 1}}
			return id
		}
		id.Rest = true
		id.Tasks, id.Limit, id.Truncated, _ = parseTasks(array.text("task"))
		return id
	}
	if leader := het.num("job_id").or(0); leader > 0 {
		id.Job, id.Het = leader, het.num("job_offset").or(0)
	}
	return id
}

// accountedNodes expands the hosts of a run; slurmdbd writes words where there
// were none.
func accountedNodes(r record) []string {
	switch r.text("nodes") {
	case noneAssigned, "None", "Unknown":
		return nil
	}
	return nodesOf(r)
}

// accountedExit is the exit code of a run. 22.05 gives "SUCCESS" and 0 for every
// job that ended by itself, whatever its code was: of a failed job that is no code.
func accountedExit(r record, base string) (code, signal int) {
	code, signal = exitOf(r)
	if base == fleet.JobFailed && code == 0 && signal == 0 {
		return -1, 0
	}
	return code, signal
}

// accountedGPUs counts what a run wanted, and holds if it still goes on.
func accountedGPUs(alloc, req tres, j *fleet.Job) fleet.GPUDemand {
	totals := alloc.GRES
	if len(totals) == 0 {
		totals = req.GRES
	}
	var d fleet.GPUDemand
	d.Wanted, d.Model = countGPUs(totals)
	if j.Active() {
		d.Held = d.Wanted
	}
	return d
}
