package fleet

import (
	"strconv"
	"strings"
)

// maxTask is the highest task number Slurm allows (MaxArraySize in slurm.conf(5)).
const maxTask = 4_000_000

// taskRange is tasks first to last, each step-th.
type taskRange struct{ first, last, step int64 }

// parseTaskRanges reads a task set as Slurm writes it: "5", "4-7,9", "0-98:3".
func parseTaskRanges(set string) ([]taskRange, bool) {
	var out []taskRange
	for part := range strings.SplitSeq(set, ",") {
		span, step, stepped := strings.Cut(part, ":")
		low, high, ranged := strings.Cut(span, "-")
		if !ranged {
			high = low
		}
		if !stepped {
			step = "1"
		}
		first, err1 := strconv.ParseUint(low, 10, 31)
		last, err2 := strconv.ParseUint(high, 10, 31)
		every, err3 := strconv.ParseUint(step, 10, 31)
		if err1 != nil || err2 != nil || err3 != nil || last < first || last > maxTask || every == 0 {
			return nil, false
		}
		out = append(out, taskRange{int64(first), int64(last), int64(every)})
	}
	return out, true
}

func (r taskRange) has(task int64) bool {
	return task >= r.first && task <= r.last && (task-r.first)%r.step == 0
}

func holdTask(ranges []taskRange, task int64) bool {
	for _, r := range ranges {
		if r.has(task) {
			return true
		}
	}
	return false
}

// Narrow returns a copy of the job that stands for only those tasks of an array's
// waiting rest that id names: "8_5" or "8_[4-5]" of "8_[4-7%2]". It has the rest's
// key. False when id names anything else.
func (j *Job) Narrow(id string) (*Job, bool) {
	if j.Array == nil || j.Array.Task >= 0 {
		return nil, false
	}
	set, ok := strings.CutPrefix(id, strconv.FormatInt(j.Array.JobID, 10)+"_")
	if !ok || strings.HasPrefix(set, "[") != strings.HasSuffix(set, "]") {
		return nil, false
	}
	set = strings.TrimSuffix(strings.TrimPrefix(set, "["), "]")
	wanted, ok1 := parseTaskRanges(set)
	waiting, ok2 := parseTaskRanges(j.Array.Tasks)
	if !ok1 || !ok2 {
		return nil, false
	}
	count := 0
	for _, r := range wanted {
		for task := r.first; task <= r.last; task += r.step {
			if !holdTask(waiting, task) {
				return nil, false
			}
			count++
		}
	}
	n := *j
	n.ID, n.Array = id, &ArrayRef{JobID: j.Array.JobID, Task: -1, Tasks: set, Count: count}
	if task, err := strconv.ParseInt(set, 10, 64); err == nil {
		n.Array.Task, n.Array.Tasks = task, ""
	}
	return &n, true
}
