package slurm

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Which of the records that were read are those that were asked for.

// viewOf finds a node by its exact name.
func viewOf(name string, views []fleet.View) (fleet.View, error) {
	for i := range views {
		if views[i].Node == name {
			return views[i], nil
		}
	}
	return fleet.View{}, fmt.Errorf("node %s: %w", name, ErrNotFound)
}

// endedSince leaves out the jobs that ended before since or have not ended. What could
// not be read stays.
func endedSince(jobs []fleet.Job, since time.Time) []fleet.Job {
	return slices.DeleteFunc(jobs, func(j fleet.Job) bool {
		return len(j.Oddities) == 0 && j.Ended.Before(since)
	})
}

// names reports whether the record is one that the id stands for. squeue folds
// waiting tasks that have records of their own into the rest of their array.
func (id jobID) names(j *fleet.Job) bool {
	switch {
	case id.Het >= 0:
		return j.Het != nil && int64(j.Het.Offset) == id.Het
	case !id.Rest && id.Tasks == nil:
		return true
	case j.Array == nil:
		return false
	case j.Array.Task >= 0:
		return id.meets(taskRange{j.Array.Task, j.Array.Task, 1}) && (!id.Rest || j.Waiting())
	}
	rest, _, _, err := parseTasks(j.Array.Tasks)
	return err == nil && slices.ContainsFunc(rest, id.meets)
}

// meets reports whether the id's tasks and those of r lie in the same range; "8_*"
// has any.
func (id jobID) meets(r taskRange) bool {
	return id.Tasks == nil || slices.ContainsFunc(id.Tasks, func(t taskRange) bool {
		return t.First <= r.Last && r.First <= t.Last
	})
}

// owns reports whether the record is the job, or one of the array or het job, that
// the id is of. What is done to a job is done to these records, so an answer with
// more than was asked for must not count.
func (id jobID) owns(j *fleet.Job) bool {
	return j.RawID == id.Job || j.Array != nil && j.Array.JobID == id.Job || j.Het != nil && j.Het.JobID == id.Job
}

// doubtful reports records of scontrol(1) that its job's owner may have written: a
// name stands before everything else in them, and may have lines like theirs.
func (id jobID) doubtful(details []JobDetail) bool {
	seen := make(map[string]bool, len(details))
	for i := range details {
		d := &details[i]
		if len(d.Oddities) > 0 || seen[d.Key.ID] || !id.owns(&d.Job) || d.Base == fleet.BaseUnknown {
			return true
		}
		seen[d.Key.ID] = true
	}
	return false
}

// ended reports a job that will not run any more, whatever it still cleans up.
func ended(j *fleet.Job) bool {
	return j.Base != fleet.JobPending && j.Base != fleet.JobRunning && j.Base != fleet.JobSuspended
}

// part reports whether the id names only some of the waiting tasks that the record
// stands for.
func (id jobID) part(j *fleet.Job) bool {
	return id.Tasks != nil && j.Array != nil && j.Array.Task < 0 && id.TaskSet() != j.Array.Tasks
}
