package slurm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// jobID is a job id as squeue(1) shows it, taken apart.
type jobID struct {
	Job int64 // the plain id, the array's id, or the het leader's id
	// Tasks is the exact set of array tasks; nil when this is no array record, and
	// for "8_*", the waiting rest whichever tasks it has.
	Tasks []taskRange
	Rest  bool  // the waiting rest of an array: "8_[4-7%2]" or "8_*"
	Limit int   // most tasks at once (the %N); 0: no limit
	Het   int64 // component of a het job; -1: none
	// Truncated: Slurm cut the task set short ("8_[1,3,5...%2]"); Tasks is only its
	// beginning, and nothing may be done by it.
	Truncated bool
}

// taskRange is the tasks First, First+Step, ... up to Last.
type taskRange struct{ First, Last, Step int64 }

// Count is the number of tasks in the range.
func (r taskRange) Count() int { return int((r.Last-r.First)/r.Step) + 1 }

// String is the range in Slurm's syntax.
func (r taskRange) String() string {
	switch {
	case r.First == r.Last:
		return strconv.FormatInt(r.First, 10)
	case r.Step == 1:
		return fmt.Sprintf("%d-%d", r.First, r.Last)
	}
	return fmt.Sprintf("%d-%d:%d", r.First, r.Last, r.Step)
}

// parseJobID reads "4711", "8_3", "8_[4-7,9%2]", "8_[1,3...]", "8_*" or "501+0".
// The error wraps ErrInput.
func parseJobID(text string) (jobID, error) {
	id := jobID{Het: -1}
	num, het, isHet := strings.Cut(text, "+")
	num, tasks, isArray := strings.Cut(num, "_")
	var ok bool
	id.Job, ok = parseNumber(num)
	switch {
	case !ok || id.Job == 0 || isHet && isArray:
		ok = false
	case isHet:
		id.Het, ok = parseNumber(het)
	case isArray:
		ok = id.tasks(tasks)
	}
	if !ok {
		return jobID{}, fmt.Errorf("job id %q: %w", text, ErrInput)
	}
	return id, nil
}

// tasks reads what follows the underscore.
func (id *jobID) tasks(text string) bool {
	if text == "*" || text == "[*]" {
		id.Rest = true
		return true
	}
	if n, ok := parseNumber(text); ok {
		id.Tasks = []taskRange{{n, n, 1}}
		return true
	}
	set, ok := strings.CutPrefix(text, "[")
	if !ok {
		return false
	}
	id.Rest = true
	set, closed := strings.CutSuffix(set, "]")
	set, limit, hasLimit := strings.Cut(set, "%")
	if hasLimit {
		n, err := strconv.ParseUint(limit, 10, 31)
		if err != nil {
			return false
		}
		id.Limit = int(n)
	}
	if strings.Contains(set, "]") {
		return false
	}
	set, id.Truncated = uncut(set, closed)
	id.Tasks, ok = parseTaskSet(set)
	return ok
}

// uncut tells whether Slurm cut the set short: it ends in "...", or without its
// bracket. Then the last item may itself be cut, and is taken off.
func uncut(set string, closed bool) (whole string, truncated bool) {
	i := strings.Index(set, "...")
	if i < 0 && closed {
		return set, false
	}
	if i >= 0 {
		set = set[:i]
	}
	j := strings.LastIndexByte(set, ',')
	return set[:max(j, 0)], true
}

// parseTasks reads a task set as scontrol prints it: "2-5%2", "7", "1-9:2,12".
// limit is 0 when none is told, and truncated says that Slurm cut the set short.
func parseTasks(text string) (tasks []taskRange, limit int, truncated bool, err error) {
	var id jobID
	if !id.tasks("[" + text + "]") {
		return nil, 0, false, fmt.Errorf("array tasks %q: %w", text, ErrInput)
	}
	return id.Tasks, id.Limit, id.Truncated, nil
}

func parseTaskSet(set string) ([]taskRange, bool) {
	if set == "" {
		return nil, true
	}
	var out []taskRange
	for part := range strings.SplitSeq(set, ",") {
		span, step, hasStep := strings.Cut(part, ":")
		first, last, isRange := strings.Cut(span, "-")
		r := taskRange{Step: 1}
		ok := !hasStep || isRange
		if ok {
			r.First, ok = parseNumber(first)
			r.Last = r.First
		}
		if ok && isRange {
			r.Last, ok = parseNumber(last)
		}
		if ok && hasStep {
			r.Step, ok = parseNumber(step)
		}
		if !ok || r.Last < r.First || r.Step < 1 {
			return nil, false
		}
		r.Last -= (r.Last - r.First) % r.Step
		out = append(out, r)
	}
	return out, true
}

// parseNumber reads decimal digits only.
func parseNumber(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int64(n), err == nil
}

// Count is how many tasks the id names; 1 for anything but an array record, 0 when
// it is not known (Truncated, "8_*").
func (id jobID) Count() int {
	switch {
	case id.Truncated || id.Rest && id.Tasks == nil:
		return 0
	case id.Tasks == nil:
		return 1
	}
	n := 0
	for _, r := range id.Tasks {
		n += r.Count()
	}
	return n
}

// TaskSet is the tasks in Slurm's syntax: "4-7,9".
func (id jobID) TaskSet() string {
	parts := make([]string, len(id.Tasks))
	for i, r := range id.Tasks {
		parts[i] = r.String()
	}
	return strings.Join(parts, ",")
}

// Key is the part of fleet.JobKey that stays while the job lives: "4711", "8_3",
// "8_*", "9+1".
func (id jobID) Key() string {
	job := strconv.FormatInt(id.Job, 10)
	switch {
	case id.Rest:
		return job + "_*"
	case id.Tasks != nil:
		return job + "_" + id.TaskSet()
	case id.Het >= 0:
		return job + "+" + strconv.FormatInt(id.Het, 10)
	}
	return job
}

// String is the id as squeue shows it.
func (id jobID) String() string {
	if !id.Rest || id.Tasks == nil && !id.Truncated {
		return id.Key()
	}
	set := id.TaskSet()
	if id.Truncated {
		set += ",..."
	}
	if id.Limit > 0 {
		set += "%" + strconv.Itoa(id.Limit)
	}
	return fmt.Sprintf("%d_[%s]", id.Job, strings.TrimPrefix(set, ","))
}

// Array places the record in its job array; nil when it is in none. Count is 0
// when Slurm cut the task set short.
func (id jobID) Array() *fleet.ArrayRef {
	switch {
	case id.Rest:
		return &fleet.ArrayRef{JobID: id.Job, Task: -1, Tasks: id.TaskSet(), Count: id.Count(), Limit: id.Limit}
	case id.Tasks != nil:
		return &fleet.ArrayRef{JobID: id.Job, Task: id.Tasks[0].First, Count: 1}
	}
	return nil
}

// HetRef places the record in its het job; nil when it is in none.
func (id jobID) HetRef() *fleet.HetRef {
	if id.Het < 0 {
		return nil
	}
	return &fleet.HetRef{JobID: id.Job, Offset: int(id.Het)}
}
