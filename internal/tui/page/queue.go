package page

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/triage"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Waiter is a job that waits, with why and what helps.
type Waiter struct {
	Job *fleet.Job
	// NeedsOperator marks a job that will never start unless someone acts.
	NeedsOperator bool
	Why           string // the reason in full words
	Next          string // what to do; may be empty
	Position      int    // among the jobs that wait for the same queue, from 1; 0: it is held
	Of            int
}

// Explain tells why one job waits.
func Explain(s *fleet.Snapshot, j *fleet.Job) Waiter {
	w := explain(s, j)
	for _, o := range s.Jobs {
		if !o.Waiting() || o.Held() || !sameLine(o, j) {
			continue
		}
		w.Of++
		if byPriority(o, j) < 0 {
			w.Position++
		}
	}
	w.Position++
	if j.Held() {
		w.Position = 0
	}
	return w
}

func explain(s *fleet.Snapshot, j *fleet.Job) Waiter {
	e := triage.ExplainPending(j, s)
	return Waiter{Job: j, NeedsOperator: e.NeedsOperator, Why: e.Plain, Next: e.Next}
}

// Queue lists the jobs that wait: those that need an operator first, then by
// priority.
func Queue(s *fleet.Snapshot) []Waiter {
	var all []Waiter
	for _, j := range s.Jobs {
		if j.Waiting() {
			all = append(all, explain(s, j))
		}
	}
	slices.SortStableFunc(all, func(a, b Waiter) int {
		switch {
		case a.NeedsOperator && !b.NeedsOperator:
			return -1
		case b.NeedsOperator && !a.NeedsOperator:
			return 1
		}
		return byPriority(a.Job, b.Job)
	})
	number(all)
	return all
}

// line is where jobs wait for each other.
type line struct{ cluster, queue string }

func lineOf(j *fleet.Job) line { return line{j.Key.Cluster, j.Queue} }

// number gives every job that is not held its place in its line.
func number(all []Waiter) {
	waiting := make([]*Waiter, 0, len(all))
	for i := range all {
		if !all[i].Job.Held() {
			waiting = append(waiting, &all[i])
		}
	}
	slices.SortStableFunc(waiting, func(a, b *Waiter) int { return byPriority(a.Job, b.Job) })
	last := map[line]int{}
	for _, w := range waiting {
		last[lineOf(w.Job)]++
		w.Position = last[lineOf(w.Job)]
	}
	for i := range all {
		all[i].Of = last[lineOf(all[i].Job)]
	}
}

func sameLine(a, b *fleet.Job) bool { return lineOf(a) == lineOf(b) }

func byPriority(a, b *fleet.Job) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Submitted.Compare(b.Submitted), fleet.CompareNatural(a.ID, b.ID))
}

// EstStart is the scheduler's estimate in words: "est. start in 13h39m".
func EstStart(j *fleet.Job, now time.Time) string {
	switch {
	case j.EstStart.IsZero(), j.Held(): // Slurm keeps the estimate of a job held later
		return ""
	case j.EstStart.Before(now):
		return "est. start due"
	}
	return "est. start in " + words.Span(j.EstStart.Sub(now))
}

// Reason is the reason of the node's worst view that gives one.
func Reason(n *fleet.Node) fleet.Reason {
	var worst *fleet.View
	for i := range n.Views {
		v := &n.Views[i]
		if v.Reason.Text != "" && (worst == nil || v.Condition() < worst.Condition()) {
			worst = v
		}
	}
	if worst == nil {
		return fleet.Reason{}
	}
	return worst.Reason
}
