package page

import (
	"cmp"
	"fmt"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/table"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Waiters is the page of the queue: why each job waits and what helps.
func Waiters(th *theme.Theme, m *words.Moment) Page {
	l := &list[Waiter]{name: "Queue", moment: m, fields: fleet.JobFields()}
	holders := map[room]string{}
	l.rows = func(s *fleet.Snapshot) []Waiter {
		clear(holders)
		return Queue(s)
	}
	l.item = func(w Waiter) Item { return jobItem(w.Job) }
	l.key = keyOfJobItem
	l.match = func(q fleet.Query, _ *fleet.Snapshot, now time.Time) func(Waiter) bool {
		row := &fleet.JobRow{Now: now}
		return func(w Waiter) bool {
			row.Job = w.Job
			return q.Match(row)
		}
	}
	l.Table = table.New(th, waiterColumns(l, holders), func(w Waiter) string { return jobKey(w.Job.Key) })
	return l
}

func waiterColumns(l *list[Waiter], holders map[room]string) []table.Column[Waiter] {
	cell := func(t theme.Name, get func(Waiter) string) func(Waiter) table.Cell {
		return func(w Waiter) table.Cell {
			return table.Cell{Text: get(w), Style: l.aged(w.Job.Key.Cluster, t)}
		}
	}
	ofJob := func(get func(*fleet.Job) string) func(Waiter) string {
		return func(w Waiter) string { return get(w.Job) }
	}
	by := func(compare func(a, b *fleet.Job) int) func(a, b Waiter) int {
		return func(a, b Waiter) int { return compare(a.Job, b.Job) }
	}
	return []table.Column[Waiter]{
		{ID: "id", Title: "JOB", Min: 6, Cell: cell(theme.Text, ofJob(jobID)), Compare: by(func(a, b *fleet.Job) int { return fleet.CompareNatural(a.ID, b.ID) })},
		{ID: "name", Title: "NAME", Min: 8, Max: 20, Priority: 4, Cell: cell(theme.Text, ofJob(jobName)), Compare: by(jobText(jobName))},
		{ID: "user", Title: "USER", Min: 5, Max: 12, Priority: 2, Cell: cell(theme.Text, ofJob(jobUser)), Compare: by(jobText(jobUser))},
		{ID: "gpus", Title: "WANTS", Align: table.Right, Priority: 1, Cell: cell(theme.Text, ofJob(gpus)), Compare: by(jobNumber(Wants))},
		{ID: "why", Title: "WHY IT WAITS", Min: 34, Max: 70, Priority: 1, Cell: l.whyCell, Compare: func(a, b Waiter) int { return cmp.Compare(a.Why, b.Why) }},
		{ID: "start", Title: "EST. START", Align: table.Right, Priority: 3, Cell: cell(theme.Text, func(w Waiter) string { return StartIn(w.Job, l.moment.Now) }), Compare: by(func(a, b *fleet.Job) int { return earlier(a.EstStart, b.EstStart) })},
		{ID: "place", Title: "PLACE", Align: table.Right, Priority: 4, Cell: cell(theme.Text, place), Compare: func(a, b Waiter) int { return cmp.Compare(a.Position, b.Position) }},
		{ID: "next", Title: "WHAT HELPS", Min: 24, Max: 60, Priority: 3, Cell: cell(theme.Accent, func(w Waiter) string { return w.Next })},
		{ID: "holders", Title: "ROOM HELD BY", Min: 16, Max: 28, Priority: 5, Cell: cell(theme.Text, func(w Waiter) string { return heldBy(l.snap, w.Job, holders) })},
		{ID: "waits", Title: "WAITS", Align: table.Right, Priority: 4, Cell: cell(theme.Dim, func(w Waiter) string { return words.Coarse(l.moment.Now, w.Job.Submitted) }), Compare: by(func(a, b *fleet.Job) int { return earlier(a.Submitted, b.Submitted) })},
		{ID: "queue", Title: "PARTITION", Min: 9, Max: 16, Priority: 6, Cell: cell(theme.Dim, ofJob(func(j *fleet.Job) string { return words.Or(j.Queue) })), Compare: by(jobText(func(j *fleet.Job) string { return j.Queue }))},
		{ID: "priority", Title: "PRIO", Align: table.Right, Priority: 6, Cell: cell(theme.Dim, ofJob(prio)), Compare: by(func(a, b *fleet.Job) int { return cmp.Compare(a.Priority, b.Priority) })},
		{ID: "reason", Title: "REASON CODE", Min: 8, Max: 32, Priority: 8, Cell: cell(theme.Dim, ofJob(func(j *fleet.Job) string { return words.Reason(j.Reason) })), Compare: by(jobText(func(j *fleet.Job) string { return words.Reason(j.Reason) }))},
		{ID: "limit", Title: "LIMIT", Align: table.Right, Priority: 8, Cell: cell(theme.Dim, ofJob(func(j *fleet.Job) string { return words.Limit(j.Limit) }))},
		{ID: "account", Title: "ACCOUNT", Min: 10, Max: 16, Priority: 7, Cell: cell(theme.Dim, ofJob(func(j *fleet.Job) string { return words.Or(j.Account) })), Compare: by(jobText(func(j *fleet.Job) string { return j.Account }))},
		{ID: "cluster", Title: "CLUSTER", Min: 10, Max: 20, Priority: 7, Cell: cell(theme.Dim, ofJob(func(j *fleet.Job) string { return j.Key.Cluster })), Compare: by(jobText(func(j *fleet.Job) string { return j.Key.Cluster }))},
	}
}

func (l *list[T]) whyCell(w Waiter) table.Cell {
	if w.NeedsOperator {
		return table.Cell{Text: "needs operator: " + w.Why, Style: l.aged(w.Job.Key.Cluster, theme.Crit)}
	}
	return table.Cell{Text: w.Why, Style: l.aged(w.Job.Key.Cluster, theme.Text)}
}

// StartIn is when the scheduler expects to start a job.
func StartIn(j *fleet.Job, now time.Time) string {
	switch {
	case j.Held():
		return words.None
	case j.EstStart.IsZero():
		return "unknown"
	case j.EstStart.Before(now):
		return "due"
	}
	return "in " + words.Span(j.EstStart.Sub(now).Truncate(time.Minute))
}

func place(w Waiter) string {
	if w.Position == 0 {
		return words.None
	}
	return fmt.Sprintf("%d/%d", w.Position, w.Of)
}

// room is what jobs compete for: GPUs of one model in the same queues.
type room struct{ cluster, queues, model string }

// heldBy names the users who hold most of the room.
func heldBy(s *fleet.Snapshot, j *fleet.Job, known map[room]string) string {
	at := room{j.Key.Cluster, j.Queue, j.GPUs.Model}
	text, ok := known[at]
	if !ok {
		text = largest(Holders(s, j))
		known[at] = text
	}
	return text
}
