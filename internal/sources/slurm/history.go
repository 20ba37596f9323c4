package slurm

import (
	"slices"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// How long and how many finished jobs are remembered after slurmctld forgot them.
const (
	historyAge  = 2 * time.Hour
	historySize = 5000
)

// history remembers jobs that have ended. slurmctld forgets them after MinJobAge,
// which would make "no failed jobs" out of "failed six minutes ago".
type history struct {
	ended map[string]fleet.Job // by job id
}

// add remembers the finished jobs of a poll, and returns the poll's jobs with those
// that it no longer lists.
func (h *history) add(jobs []fleet.Job, now time.Time) []fleet.Job {
	listed := make(map[string]bool, len(jobs))
	for i := range jobs {
		listed[jobs[i].Key.ID] = true
	}
	var old []fleet.Job
	for id, j := range h.ended {
		switch {
		case now.Sub(j.Ended) > historyAge:
			delete(h.ended, id)
		case !listed[id]:
			old = append(old, j)
		}
	}
	slices.SortFunc(old, func(a, b fleet.Job) int { return b.Ended.Compare(a.Ended) })
	for _, j := range old[min(len(old), historySize):] {
		delete(h.ended, j.Key.ID)
	}
	for i := range jobs {
		h.remember(jobs[i])
	}
	return append(jobs, old[:min(len(old), historySize)]...)
}

// learn remembers finished jobs that accounting told of.
func (h *history) learn(jobs []fleet.Job) {
	for _, j := range jobs {
		if was, ok := h.ended[j.Key.ID]; !ok || j.Ended.After(was.Ended) {
			h.remember(j)
		}
	}
}

func (h *history) remember(j fleet.Job) {
	if !j.Done() || j.Ended.IsZero() {
		return
	}
	if h.ended == nil {
		h.ended = map[string]fleet.Job{}
	}
	h.ended[j.Key.ID] = j
}
