package page

import (
	"fmt"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/table"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Timeline is the page of what changed, the newest on top.
func Timeline(th *theme.Theme, m *words.Moment) Page {
	l := &list[*fleet.Event]{name: "Timeline", moment: m, fields: fleet.EventFields()}
	l.rows = func(s *fleet.Snapshot) []*fleet.Event {
		rows := make([]*fleet.Event, 0, len(s.Timeline))
		for i := len(s.Timeline) - 1; i >= 0; i-- {
			rows = append(rows, &s.Timeline[i])
		}
		return rows
	}
	l.item = func(e *fleet.Event) Item { return eventItem(l.snap, e) }
	l.key = func(it Item) string {
		if it.Event == nil {
			return ""
		}
		return eventKey(it.Event)
	}
	l.match = func(q fleet.Query, _ *fleet.Snapshot, now time.Time) func(*fleet.Event) bool {
		row := &fleet.EventRow{Now: now}
		return func(e *fleet.Event) bool {
			row.Event = e
			return q.Match(row)
		}
	}
	l.Table = table.New(th, eventColumns(l), eventKey)
	return l
}

func eventKey(e *fleet.Event) string {
	return fmt.Sprintf("%d/%s/%s/%s/%s/%s", e.At.UnixNano(), e.Source, e.Subject.Kind, e.Subject.Name, e.What, e.After)
}

func eventItem(s *fleet.Snapshot, e *fleet.Event) Item {
	it := Item{Subject: e.Subject, Event: e}
	if e.Subject.Kind == fleet.KindJob {
		if jobs := s.FindJobs(e.Subject.Cluster, e.Subject.Name); len(jobs) > 0 {
			it.Job = jobs[0].Key
		}
	}
	return it
}

func eventColumns(l *list[*fleet.Event]) []table.Column[*fleet.Event] {
	cell := func(t theme.Name, get func(*fleet.Event) string) func(*fleet.Event) table.Cell {
		return func(e *fleet.Event) table.Cell { return table.Cell{Text: get(e), Style: t} }
	}
	return []table.Column[*fleet.Event]{
		{ID: "at", Title: "TIME", NeverCut: true, Cell: cell(theme.Dim, func(e *fleet.Event) string { return l.moment.Zone.Time(l.moment.Now, e.At) }), Compare: func(a, b *fleet.Event) int { return a.At.Compare(b.At) }},
		{ID: "kind", Title: "KIND", Priority: 5, Cell: cell(theme.Dim, func(e *fleet.Event) string { return string(e.Subject.Kind) })},
		{ID: "name", Title: "NAME", Min: 12, Max: 24, Priority: 1, Cell: cell(theme.Text, func(e *fleet.Event) string { return e.Subject.Name }), Compare: func(a, b *fleet.Event) int { return fleet.CompareNatural(a.Subject.Name, b.Subject.Name) }},
		{ID: "what", Title: "WHAT", Priority: 3, Cell: cell(theme.Text, func(e *fleet.Event) string { return e.What })},
		{ID: "before", Title: "BEFORE", Min: 10, Max: 30, Priority: 4, Cell: cell(theme.Dim, func(e *fleet.Event) string { return e.Before })},
		{ID: "after", Title: "AFTER", Min: 20, Max: 60, Priority: 1, Cell: func(e *fleet.Event) table.Cell {
			return table.Cell{Text: e.After, Style: eventTone(e)}
		}},
		{ID: "by", Title: "BY", Min: 5, Max: 14, Priority: 2, Cell: cell(theme.Text, func(e *fleet.Event) string { return e.Author })},
		{ID: "source", Title: "SOURCE", Min: 8, Max: 20, Priority: 5, Cell: cell(theme.Dim, func(e *fleet.Event) string { return e.Source })},
	}
}

// eventTone colours a change by what it led to.
func eventTone(e *fleet.Event) theme.Name {
	if e.Subject.Kind == fleet.KindJob && e.What == "ended" {
		switch e.After {
		case fleet.JobCompleted:
			return theme.OK
		case fleet.JobFailed, fleet.JobNodeFail, fleet.JobTimeout, fleet.JobOOM:
			return theme.Faulty
		}
	}
	return theme.Text
}
