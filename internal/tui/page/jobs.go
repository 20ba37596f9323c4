package page

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/table"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Jobs is the page of all jobs, one row a job however many GPUs it holds.
func Jobs(th *theme.Theme, m *words.Moment) Page {
	l := &list[*fleet.Job]{name: "Jobs", moment: m, fields: fleet.JobFields()}
	folded := map[*fleet.Job]string{}
	l.rows = func(s *fleet.Snapshot) []*fleet.Job {
		clear(folded)
		return s.Jobs
	}
	l.item, l.key = jobItem, keyOfJobItem
	l.match = func(q fleet.Query, _ *fleet.Snapshot, now time.Time) func(*fleet.Job) bool {
		row := &fleet.JobRow{Now: now}
		return func(j *fleet.Job) bool {
			row.Job = j
			return q.Match(row)
		}
	}
	l.Table = table.New(th, jobColumns(l, folded), func(j *fleet.Job) string { return jobKey(j.Key) })
	return l
}

func jobColumns(l *list[*fleet.Job], folded map[*fleet.Job]string) []table.Column[*fleet.Job] {
	cell := func(t theme.Name, get func(*fleet.Job) string) func(*fleet.Job) table.Cell {
		return func(j *fleet.Job) table.Cell { return table.Cell{Text: get(j), Style: l.aged(j.Key.Cluster, t)} }
	}
	return []table.Column[*fleet.Job]{
		{ID: "id", Title: "JOB", Min: 6, Cell: cell(theme.Text, jobID), Compare: func(a, b *fleet.Job) int { return fleet.CompareNatural(a.ID, b.ID) }},
		{ID: "name", Title: "NAME", Min: 8, Max: 28, Priority: 3, Cell: cell(theme.Text, jobName), Compare: jobText(jobName)},
		{ID: "user", Title: "USER", Min: 5, Max: 16, Priority: 1, Cell: cell(theme.Text, jobUser), Compare: jobText(jobUser)},
		{ID: "state", Title: "STATE", NeverCut: true, Priority: 1, Cell: l.jobState, Compare: jobText(words.JobState)},
		{ID: "gpus", Title: "GPUS", Align: table.Right, Priority: 1, Cell: cell(theme.Text, gpus), Compare: jobNumber(heldOrWanted)},
		{ID: "nodes", Title: "NODES", Align: table.Right, Priority: 4, Cell: cell(theme.Text, func(j *fleet.Job) string { return words.Count(j.NodeCount) }), Compare: jobNumber(func(j *fleet.Job) int { return j.NodeCount })},
		{ID: "time", Title: "TIME", Align: table.Right, Priority: 3, Cell: cell(theme.Text, l.elapsed), Compare: l.byElapsed},
		{ID: "where", Title: "HOSTS OR REASON", Min: 18, Max: 60, Priority: 2, Cell: cell(theme.Text, l.where(folded)), Compare: jobText(func(j *fleet.Job) string { return words.Reason(j.Reason) })},
		{ID: "limit", Title: "LIMIT", Align: table.Right, Priority: 4, Cell: cell(theme.Dim, func(j *fleet.Job) string { return words.Limit(j.Limit) }), Compare: byLimit},
		{ID: "queue", Title: "PARTITION", Min: 9, Max: 16, Priority: 5, Cell: cell(theme.Dim, func(j *fleet.Job) string { return words.Or(j.Queue) }), Compare: jobText(func(j *fleet.Job) string { return j.Queue })},
		{ID: "priority", Title: "PRIO", Align: table.Right, Priority: 7, Cell: cell(theme.Dim, prio), Compare: func(a, b *fleet.Job) int { return cmp.Compare(a.Priority, b.Priority) }},
		{ID: "account", Title: "ACCOUNT", Min: 10, Max: 16, Priority: 6, Cell: cell(theme.Dim, func(j *fleet.Job) string { return words.Or(j.Account) }), Compare: jobText(func(j *fleet.Job) string { return j.Account })},
		{ID: "restarts", Title: "RESTARTS", Align: table.Right, Priority: 7, Cell: cell(theme.Dim, func(j *fleet.Job) string { return strconv.Itoa(j.Restarts) }), Compare: jobNumber(func(j *fleet.Job) int { return j.Restarts })},
		{ID: "age", Title: "SUBMITTED", Align: table.Right, Priority: 8, Cell: cell(theme.Dim, func(j *fleet.Job) string { return words.Coarse(l.moment.Now, j.Submitted) }), Compare: func(a, b *fleet.Job) int { return earlier(a.Submitted, b.Submitted) }},
		{ID: "qos", Title: "QOS", Max: 16, Min: 6, Priority: 8, Cell: cell(theme.Dim, func(j *fleet.Job) string { return words.Or(j.QOS) }), Compare: jobText(func(j *fleet.Job) string { return j.QOS })},
		{ID: "model", Title: "MODEL", Priority: 8, Cell: cell(theme.Dim, func(j *fleet.Job) string { return words.Or(j.GPUs.Model) }), Compare: jobText(func(j *fleet.Job) string { return j.GPUs.Model })},
		{ID: "cluster", Title: "CLUSTER", Min: 10, Max: 20, Priority: 6, Cell: cell(theme.Dim, func(j *fleet.Job) string { return j.Key.Cluster }), Compare: jobText(func(j *fleet.Job) string { return j.Key.Cluster })},
	}
}

func (l *list[T]) jobState(j *fleet.Job) table.Cell {
	return table.Cell{Text: words.JobState(j), Style: l.aged(j.Key.Cluster, tone.Job(j))}
}

func jobID(j *fleet.Job) string   { return j.ID }
func jobName(j *fleet.Job) string { return words.Or(j.Name) }
func jobUser(j *fleet.Job) string { return words.Or(j.User) }
func prio(j *fleet.Job) string    { return strconv.FormatInt(j.Priority, 10) }

// heldOrWanted is the number of GPUs the job is about: those it holds, or wants, or
// wanted when it ran.
func heldOrWanted(j *fleet.Job) int {
	if j.Active() {
		return j.GPUs.Held
	}
	return Wants(j)
}

func gpus(j *fleet.Job) string { return words.Count(heldOrWanted(j)) }

// where is what the row's state makes one ask: where it runs, why it waits, or how
// it ended. Folding 512 names costs more than drawing a row, so what was folded is
// kept until the next snapshot.
func (l *list[T]) where(folded map[*fleet.Job]string) func(*fleet.Job) string {
	return func(j *fleet.Job) string {
		if !j.Active() {
			return l.jobReason(j)
		}
		text, known := folded[j]
		if !known {
			text = fleet.FoldHosts(j.Nodes)
			folded[j] = text
		}
		if !j.Preempted.IsZero() {
			return "being preempted, " + text
		}
		return text
	}
}

// elapsed is how long a job has run; for one that waits nothing, never a negative
// time.
func (l *list[T]) elapsed(j *fleet.Job) string {
	ran, ok := j.Elapsed(l.moment.Now)
	if !ok {
		return words.None
	}
	if ran >= time.Minute {
		ran = ran.Truncate(time.Minute)
	}
	return words.Span(ran)
}

// byLimit puts no limit last, and limits that nobody told first.
func byLimit(a, b *fleet.Job) int {
	length := func(l fleet.Limit) time.Duration {
		switch l.Kind {
		case fleet.LimitSet:
			return l.Duration
		case fleet.LimitNone:
			return math.MaxInt64
		}
		return 0
	}
	return cmp.Compare(length(a.Limit), length(b.Limit))
}

func (l *list[T]) byElapsed(a, b *fleet.Job) int {
	x, _ := a.Elapsed(l.moment.Now)
	y, _ := b.Elapsed(l.moment.Now)
	return cmp.Compare(x, y)
}

// jobReason says why a job waits, or how it ended.
func (l *list[T]) jobReason(j *fleet.Job) string {
	switch {
	case j.Waiting():
		text := words.Reason(j.Reason)
		if est := EstStart(j, l.moment.Now); est != "" {
			text += ", " + est
		}
		return text
	case j.Done() && j.Signal > 0:
		return fmt.Sprintf("signal %d", j.Signal)
	case j.Done() && j.ExitCode > 0:
		return fmt.Sprintf("exit code %d", j.ExitCode)
	}
	return words.Reason(j.Reason)
}

func jobNumber(get func(*fleet.Job) int) func(a, b *fleet.Job) int {
	return func(a, b *fleet.Job) int { return cmp.Compare(get(a), get(b)) }
}

func jobText(get func(*fleet.Job) string) func(a, b *fleet.Job) int {
	return func(a, b *fleet.Job) int { return cmp.Compare(get(a), get(b)) }
}
