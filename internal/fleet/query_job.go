package fleet

import (
	"strconv"
	"time"
)

// JobRow is a Job as a Query sees it. One JobRow may be used for many jobs, one
// after the other.
type JobRow struct {
	*Job
	Now time.Time
}

// JobFields lists the fields of a JobRow.
func JobFields() []Field { return fieldsOf(jobColumns) }

// Field implements Row.
func (r *JobRow) Field(name string) (Value, bool) { return lookUp(jobColumns, name, r) }

var jobColumns = []column[*JobRow]{
	{field(KindState, "id, also of the array or het job", "id", "job"), (*JobRow).ids},
	{field(KindText, "job name", "name"), func(r *JobRow) Value { return TextValue(r.Name) }},
	{field(KindText, "who submitted it", "user", "owner"), func(r *JobRow) Value { return TextValue(r.User) }},
	{field(KindText, "account", "account"), func(r *JobRow) Value { return TextValue(r.Account) }},
	{field(KindText, "partition or queue", "queue", "partition"), func(r *JobRow) Value { return TextValue(r.Queue) }},
	{field(KindText, "quality of service", "qos"), func(r *JobRow) Value { return TextValue(r.QOS) }},
	{field(KindText, "cluster", "cluster"), func(r *JobRow) Value { return TextValue(r.Key.Cluster) }},
	{field(KindState, "base state, flags, held", "state"), (*JobRow).state},
	{field(KindState, "base state", "base"), func(r *JobRow) Value { return StateValue(r.Base, nil, "") }},
	{field(KindState, "flags of the state", "flag", "flags"), func(r *JobRow) Value { return StateValue("", r.Flags, "") }},
	{field(KindText, "why it waits or how it ended", "reason"), (*JobRow).reason},
	{field(KindNumber, "GPUs held, or wanted while it waits", "gpus"), (*JobRow).gpus},
	{field(KindText, "GPU model", "gpu", "model"), func(r *JobRow) Value { return TextValue(r.GPUs.Model) }},
	{field(KindNumber, "number of nodes", "nodes"), func(r *JobRow) Value { return NumberValue(r.NodeCount) }},
	{field(KindText, "hosts it holds", "node", "host"), func(r *JobRow) Value { return TextsValue(r.Nodes) }},
	{field(KindNumber, "CPUs", "cpu", "cpus"), func(r *JobRow) Value { return NumberValue(r.CPUs) }},
	{field(KindNumber, "priority", "priority", "prio"), func(r *JobRow) Value { return NumberValue(r.Priority) }},
	{field(KindDuration, "time since it was submitted", "age"), func(r *JobRow) Value { return AgeValue(r.Now, r.Submitted) }},
	{field(KindDuration, "time it waited to start", "wait"), (*JobRow).wait},
	{field(KindDuration, "time it ran", "elapsed", "time"), (*JobRow).elapsed},
	{field(KindDuration, "time limit", "limit"), func(r *JobRow) Value { return LimitValue(r.Limit) }},
	{field(KindNumber, "times it was started again", "restarts"), func(r *JobRow) Value { return NumberValue(r.Restarts) }},
	{field(KindNumber, "id of its array", "array"), (*JobRow).array},
	{field(KindText, "dependency", "dependency", "dep"), func(r *JobRow) Value { return TextValue(r.Dependency) }},
	{field(KindText, "comment", "comment"), func(r *JobRow) Value { return TextValue(r.Comment) }},
	{field(KindText, "working directory", "dir", "workdir"), func(r *JobRow) Value { return TextValue(r.WorkDir) }},
	{field(KindNumber, "exit code", "exit"), (*JobRow).exit},
}

func (r *JobRow) ids() Value {
	v := StateValue(r.ID, nil, r.Key.ID)
	switch {
	case r.Array != nil:
		v.List = some(strconv.FormatInt(r.Array.JobID, 10))
	case r.Het != nil:
		v.List = some(strconv.FormatInt(r.Het.JobID, 10))
	}
	return v
}

func (r *JobRow) state() Value {
	also := ""
	if r.Held() {
		also = "held"
	}
	return StateValue(r.Base, r.Flags, also)
}

func (r *JobRow) reason() Value {
	return Value{Text: r.Reason.Code, Also: r.Reason.Text, Absent: r.Reason.Absent()}
}

func (r *JobRow) gpus() Value {
	if r.Waiting() {
		return NumberValue(r.GPUs.Wanted)
	}
	return NumberValue(r.GPUs.Held)
}

func (r *JobRow) wait() Value {
	end := r.Started
	if r.Waiting() {
		end = r.Now
	}
	if end.IsZero() || r.Submitted.IsZero() {
		return absentValue(KindDuration)
	}
	return AgeValue(end, r.Submitted)
}

func (r *JobRow) elapsed() Value {
	d, ok := r.Elapsed(r.Now)
	v := SpanValue(d)
	v.Absent = !ok
	return v
}

func (r *JobRow) array() Value {
	if r.Array == nil {
		return absentValue(KindNumber)
	}
	return NumberValue(r.Array.JobID)
}

func (r *JobRow) exit() Value {
	v := NumberValue(r.ExitCode)
	v.Absent = r.ExitCode < 0 || !r.Done()
	return v
}

// Words implements Row: what a job table shows.
func (r *JobRow) Words(yield func(string) bool) {
	for _, s := range [...]string{
		r.ID, r.Name, r.User, r.Account, r.Queue, r.QOS, r.Base, r.Reason.Code, r.Reason.Text, r.Key.Cluster, r.GPUs.Model,
	} {
		if !yield(s) {
			return
		}
	}
	for _, list := range [...][]string{r.Flags, r.Nodes} {
		for _, s := range list {
			if !yield(s) {
				return
			}
		}
	}
}
