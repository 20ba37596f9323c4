package page

import (
	"cmp"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/table"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Triage is the page of findings, the worst on top.
func Triage(th *theme.Theme, m *words.Moment) Page {
	l := &list[*fleet.Finding]{name: "Triage", moment: m, fields: fleet.FindingFields()}
	l.rows = func(s *fleet.Snapshot) []*fleet.Finding {
		rows := make([]*fleet.Finding, len(s.Findings))
		for i := range s.Findings {
			rows[i] = &s.Findings[i]
		}
		return rows
	}
	l.item = func(f *fleet.Finding) Item { return findingItem(l.snap, f) }
	l.key = func(it Item) string {
		if it.Finding == nil {
			return ""
		}
		return it.Finding.ID
	}
	l.match = func(q fleet.Query, _ *fleet.Snapshot, now time.Time) func(*fleet.Finding) bool {
		row := &fleet.FindingRow{Now: now}
		return func(f *fleet.Finding) bool {
			row.Finding = f
			return q.Match(row)
		}
	}
	l.Table = table.New(th, findingColumns(l, th), func(f *fleet.Finding) string { return f.ID })
	return l
}

// findingItem points at what the finding is about, so that actions go there.
func findingItem(s *fleet.Snapshot, f *fleet.Finding) Item {
	it := Item{Subject: f.Subject, Finding: f}
	if f.Subject.Kind == fleet.KindJob {
		if jobs := s.FindJobs(f.Subject.Cluster, f.Subject.Name); len(jobs) > 0 {
			it.Job = jobs[0].Key
		}
	}
	if f.Subject.Kind == fleet.KindGPU {
		if g, _ := s.GPU(f.Subject.Name); g != nil {
			it.Node = g.Node
		}
	}
	return it
}

func findingColumns(l *list[*fleet.Finding], th *theme.Theme) []table.Column[*fleet.Finding] {
	cell := func(t theme.Name, get func(*fleet.Finding) string) func(*fleet.Finding) table.Cell {
		return func(f *fleet.Finding) table.Cell {
			return table.Cell{Text: get(f), Style: l.aged(f.Subject.Cluster, t)}
		}
	}
	return []table.Column[*fleet.Finding]{
		{ID: "severity", Title: "SEVERITY", NeverCut: true, Cell: func(f *fleet.Finding) table.Cell {
			t := tone.Severity(f.Severity)
			return table.Cell{Text: th.Glyphs.Of(t) + " " + f.Severity.String(), Style: l.agedSource(f, t)}
		}, Compare: func(a, b *fleet.Finding) int { return cmp.Compare(a.Severity, b.Severity) }},
		{ID: "title", Title: "WHAT", Min: 44, Max: 90, Priority: 1, Cell: cell(theme.Text, func(f *fleet.Finding) string { return f.Title })},
		{ID: "gpus", Title: "GPUS", Align: table.Right, Priority: 1, Cell: cell(theme.Text, cost(func(b fleet.Blast) int { return b.GPUs })), Compare: func(a, b *fleet.Finding) int { return cmp.Compare(a.Blast.GPUs, b.Blast.GPUs) }},
		{ID: "jobs", Title: "JOBS", Align: table.Right, Priority: 4, Cell: cell(theme.Text, cost(func(b fleet.Blast) int { return b.Jobs })), Compare: func(a, b *fleet.Finding) int { return cmp.Compare(a.Blast.Jobs, b.Blast.Jobs) }},
		{ID: "users", Title: "USERS", Min: 6, Max: 20, Priority: 4, Cell: cell(theme.Text, func(f *fleet.Finding) string { return strings.Join(f.Blast.Users, ",") })},
		{ID: "since", Title: "SINCE", Align: table.Right, Priority: 2, Cell: cell(theme.Dim, func(f *fleet.Finding) string { return words.Coarse(l.moment.Now, f.Since) }), Compare: func(a, b *fleet.Finding) int { return earlier(a.Since, b.Since) }},
		{ID: "advice", Title: "ADVICE", Min: 30, Max: 70, Priority: 3, Cell: cell(theme.Accent, func(f *fleet.Finding) string { return f.Advice })},
		{ID: "actions", Title: "ACTIONS", Min: 7, Max: 24, Priority: 5, Cell: cell(theme.Dim, func(f *fleet.Finding) string { return strings.Join(f.Actions, ",") })},
		{ID: "cluster", Title: "CLUSTER", Min: 10, Max: 20, Priority: 6, Cell: cell(theme.Dim, func(f *fleet.Finding) string { return f.Subject.Cluster }), Compare: func(a, b *fleet.Finding) int { return cmp.Compare(a.Subject.Cluster, b.Subject.Cluster) }},
		{ID: "rule", Title: "RULE", Min: 8, Max: 30, Priority: 9, Hidden: true, Cell: cell(theme.Dim, func(f *fleet.Finding) string { return f.Rule }), Compare: func(a, b *fleet.Finding) int { return cmp.Compare(a.Rule, b.Rule) }},
	}
}

// cost shows what a finding costs; nothing where it costs none.
func cost(get func(fleet.Blast) int) func(*fleet.Finding) string {
	return func(f *fleet.Finding) string {
		if n := get(f.Blast); n > 0 {
			return words.Count(n)
		}
		return ""
	}
}

// agedSource greys what is said about old data, but never the finding that the
// data are old.
func (l *list[T]) agedSource(f *fleet.Finding, t theme.Name) theme.Name {
	if f.Subject.Kind == fleet.KindSource {
		return t
	}
	return l.aged(f.Subject.Cluster, t)
}

// Blast says what a finding costs: "320 GPUs, 1 job of alice".
func Blast(b fleet.Blast) string {
	var parts []string
	if b.GPUs > 0 {
		parts = append(parts, words.Plural(b.GPUs, "GPU"))
	}
	if b.Jobs > 0 {
		jobs := words.Plural(b.Jobs, "job")
		if len(b.Users) > 0 {
			jobs += " of " + strings.Join(b.Users, ", ")
		}
		parts = append(parts, jobs)
	}
	return strings.Join(parts, ", ")
}
