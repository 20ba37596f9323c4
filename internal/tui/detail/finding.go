package detail

import (
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/page"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Finding describes a finding, and then its subject.
func Finding(s *fleet.Snapshot, f *fleet.Finding, m words.Moment) Doc {
	var d Doc
	switch f.Subject.Kind {
	case fleet.KindNode:
		if n := s.Node(f.Subject.Name); n != nil {
			return Node(s, n, m)
		}
	case fleet.KindJob:
		if jobs := s.FindJobs(f.Subject.Cluster, f.Subject.Name); len(jobs) > 0 {
			return Job(s, jobs[0], m)
		}
	case fleet.KindGPU:
		if g, n := s.GPU(f.Subject.Name); g != nil {
			return GPU(s, n, g, m)
		}
	case fleet.KindSource:
		d.finding(f, m)
		d.sourceState(s, f.Subject.Name, m)
		return d
	}
	d.finding(f, m)
	return d
}

// about reports a finding that is about the node or one of its devices.
func about(f *fleet.Finding, n *fleet.Node) bool {
	switch f.Subject.Kind {
	case fleet.KindNode:
		return f.Subject.Name == n.Name
	case fleet.KindGPU:
		return n.GPU(f.Subject.Name) != nil
	}
	return false
}

func (d *Doc) finding(f *fleet.Finding, m words.Moment) {
	*d = append(*d, Line{Head: true, Text: f.Severity.String() + ": " + line.Clean(f.Title), Tone: tone.Severity(f.Severity)})
	d.say("since", m.Since(f.Since))
	d.say("costs", page.Blast(f.Blast))
	for _, e := range f.Evidence {
		d.say("evidence", e)
	}
	d.tone("advice", f.Advice, theme.Accent)
	d.say("actions", strings.Join(f.Actions, ", "))
	d.say("rule", f.Rule)
}

func findingsOf(s *fleet.Snapshot, kind fleet.Kind, name string) []*fleet.Finding {
	var found []*fleet.Finding
	for i := range s.Findings {
		if f := &s.Findings[i]; f.Subject.Kind == kind && f.Subject.Name == name {
			found = append(found, f)
		}
	}
	return found
}

// mostEvents is how many of its last changes a subject shows.
const mostEvents = 8

func (d *Doc) events(s *fleet.Snapshot, kind fleet.Kind, name string, m words.Moment) {
	shown := 0
	for i := len(s.Timeline) - 1; i >= 0 && shown < mostEvents; i-- {
		e := &s.Timeline[i]
		if e.Subject.Kind != kind || e.Subject.Name != name {
			continue
		}
		if shown == 0 {
			d.head("last changes")
		}
		d.say(m.Zone.Time(m.Now, e.At), Change(e))
		shown++
	}
}

// Change says what an event changed: "state IDLE > DOWN by slurm".
func Change(e *fleet.Event) string {
	text := e.What
	if e.Before != "" {
		text += " " + e.Before + " ->"
	}
	text += " " + e.After
	if e.Author != "" {
		text += " by " + e.Author
	}
	return text
}

// Event describes one line of the timeline.
func Event(s *fleet.Snapshot, e *fleet.Event, m words.Moment) Doc {
	var d Doc
	d.head(string(e.Subject.Kind) + " " + e.Subject.Name)
	d.say("at", m.Since(e.At))
	d.say("what", e.What)
	d.say("before", e.Before)
	d.say("after", e.After)
	d.say("by", e.Author)
	d.say("source", e.Source)
	switch e.Subject.Kind {
	case fleet.KindNode:
		if n := s.Node(e.Subject.Name); n != nil {
			return append(d, Node(s, n, m)...)
		}
	case fleet.KindJob:
		if jobs := s.FindJobs(e.Subject.Cluster, e.Subject.Name); len(jobs) > 0 {
			return append(d, Job(s, jobs[0], m)...)
		}
	case fleet.KindGPU:
		if g, n := s.GPU(e.Subject.Name); g != nil {
			return append(d, GPU(s, n, g, m)...)
		}
	case fleet.KindSource:
		d.sourceState(s, e.Subject.Name, m)
	}
	return d
}
