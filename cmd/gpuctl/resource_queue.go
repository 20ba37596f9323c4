package main

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/triage"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// queueItem is a waiting job with why it waits.
type queueItem struct {
	jobItem
	Position int      `json:"position"`
	Operator bool     `json:"needs_operator"`
	Meaning  string   `json:"meaning"`
	Next     string   `json:"next"`
	Holders  []string `json:"holders"`
}

func queueResource() resource {
	return resource{
		name: "queue", listKind: "QueueList", facts: true,
		columns: []column{
			{title: "POS"},
			{title: "ID"},
			{title: "NAME"},
			{title: "USER"},
			{title: "QUEUE"},
			{title: "GPUS"},
			{title: "WAITS"},
			{title: "EST.START"},
			{title: "WHY"},
			{title: "NEXT", wide: true},
			{title: "REASON", wide: true},
			{title: "PRIORITY", wide: true},
			{title: "CLUSTER", wide: true},
		},
		fields: fleet.JobFields(),
		rows:   queueRows,
		pick:   pickJobs,
	}
}

// queueRows lists waiting jobs: those that need a person first, then by priority.
func queueRows(s *fleet.Snapshot, now time.Time) []row {
	type waiting struct {
		job *fleet.Job
		why triage.Explanation
	}
	var jobs []waiting
	for _, j := range s.Jobs {
		if j.Waiting() {
			jobs = append(jobs, waiting{j, triage.ExplainPending(j, s)})
		}
	}
	slices.SortStableFunc(jobs, func(a, b waiting) int {
		if a.why.NeedsOperator != b.why.NeedsOperator {
			if a.why.NeedsOperator {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.job.Priority, a.job.Priority), a.job.Submitted.Compare(b.job.Submitted))
	})
	rows := make([]row, len(jobs))
	for i, w := range jobs {
		j := w.job
		item := queueItem{
			jobItem: jobItemOf(j), Position: i + 1, Operator: w.why.NeedsOperator,
			Meaning: w.why.Plain, Next: w.why.Next, Holders: strs(holderWords(w.why)),
		}
		start := words.None
		if !j.EstStart.IsZero() {
			start = "in " + words.Span(max(0, j.EstStart.Sub(now)))
		}
		rows[i] = row{
			name: j.ID, item: item, key: j.Key, match: &fleet.JobRow{Job: j, Now: now},
			cells: []string{
				strconv.Itoa(i + 1), j.ID, j.Name, j.User, j.Queue, strconv.Itoa(j.GPUs.Wanted),
				words.Age(now, j.Submitted), start, w.why.Plain,
				w.why.Next, words.Reason(j.Reason), strconv.FormatInt(j.Priority, 10), j.Key.Cluster,
			},
		}
	}
	return rows
}

func holderWords(e triage.Explanation) []string {
	var out []string
	for _, h := range e.Holders {
		out = append(out, h.ID)
	}
	return out
}
