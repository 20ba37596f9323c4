package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// timeline is the bounded list of events. Slices that it gave away stay as they
// are: it only ever appends, or starts a new array.
type timeline struct {
	max    int
	events []Event
}

func (t *timeline) add(e Event) {
	if len(t.events) >= 2*t.max {
		t.events = slices.Clone(t.view())
	}
	t.events = append(t.events, e)
}

// view is the newest events, newest last.
func (t *timeline) view() []Event {
	return t.events[max(0, len(t.events)-t.max):len(t.events):len(t.events)]
}

// differ makes the events of one update.
type differ struct {
	source string
	at     time.Time
	add    func(Event)
	agents []agentChange // not told yet
}

func (d *differ) event(s Subject, what, before, after, author string) {
	d.add(Event{At: d.at, Source: d.source, Subject: s, What: what, Before: before, After: after, Author: author})
}

// view tells what changed on a node. Going between idle and allocated is no news:
// the jobs tell that.
func (d *differ) view(before, after *View) {
	v := after
	if v == nil {
		v = before
	}
	subject := Subject{Kind: KindNode, Cluster: v.Cluster, Name: v.Node}
	was, is := "", "gone"
	if before != nil {
		was = stateWords(before)
	}
	if after != nil {
		is = stateWords(after)
	}
	if newsOf(before) != newsOf(after) {
		author := ""
		if after != nil && (before == nil || before.Reason != after.Reason) {
			author = after.Reason.Author
		}
		d.event(subject, "state", was, is, author)
	}
	if before != nil && after != nil && before.Reason.Text != after.Reason.Text {
		d.event(subject, "reason", before.Reason.Text, after.Reason.Text, after.Reason.Author)
	}
}

// stateWords is a state as people write it: MIXED+DRAIN.
func stateWords(v *View) string {
	if len(v.Flags) == 0 {
		return v.Base
	}
	return v.Base + "+" + strings.Join(v.Flags, "+")
}

// newsOf is the part of a state whose change is news.
func newsOf(v *View) string {
	if v == nil {
		return ""
	}
	var b strings.Builder
	switch v.Base {
	case BaseIdle, BaseMixed, BaseAllocated:
		b.WriteString("up")
	default:
		b.WriteString(v.Base)
	}
	for _, f := range v.Flags {
		if f != FlagCompleting && f != FlagPlanned {
			b.WriteString("+" + f)
		}
	}
	return b.String()
}

// job tells what changed on a job; before or after may be nil. A requeued job has
// a new submit time, so records are paired by id.
func (d *differ) job(before, after *Job) {
	switch {
	case after == nil:
		if !before.Done() {
			d.event(jobSubject(before), "ended", before.Base, "no longer listed", "")
		}
	case before == nil:
		if after.Active() {
			d.event(jobSubject(after), "started", "", startWords(after), "")
		}
	default:
		d.jobChange(before, after)
	}
}

func (d *differ) jobChange(before, after *Job) {
	subject := jobSubject(after)
	if before.Active() && after.Waiting() || !before.Waiting() && after.Restarts > before.Restarts {
		d.event(subject, "requeued", before.Base, after.Base, "")
	}
	if !before.Active() && after.Active() && !after.Has(JobFlagCompleting) {
		d.event(subject, "started", before.Base, startWords(after), "")
	}
	if !before.Done() && after.Done() {
		d.event(subject, "ended", before.Base, endWords(after), "")
	}
	if !before.Held() && after.Held() {
		d.event(subject, "held", before.Reason.Code, after.Reason.Code, "")
	}
	if before.Held() && !after.Held() && after.Waiting() {
		d.event(subject, "released", before.Reason.Code, after.Reason.Code, "")
	}
	if before.Preempted.IsZero() && !after.Preempted.IsZero() {
		d.event(subject, "preempting", before.Base, after.Base, "")
	}
}

func jobSubject(j *Job) Subject { return Subject{Kind: KindJob, Cluster: j.Key.Cluster, Name: j.ID} }

func startWords(j *Job) string {
	if len(j.Nodes) == 0 {
		return j.Base
	}
	return j.Base + " on " + FoldHosts(j.Nodes)
}

func endWords(j *Job) string {
	switch {
	case j.Signal > 0:
		return fmt.Sprintf("%s, signal %d", j.Base, j.Signal)
	case j.ExitCode > 0:
		return fmt.Sprintf("%s, exit %d", j.Base, j.ExitCode)
	}
	return j.Base
}

// statusEvent tells how a source changed; false when that is no news.
func statusEvent(before, after SourceState, at time.Time) (Event, bool) {
	news := before.Status != after.Status &&
		(before.Status != SourceConnecting && before.Status != "" || after.Status != SourceLive)
	is := string(after.Status)
	if after.LastError != "" {
		is += ": " + after.LastError
	}
	return Event{
		At: at, Source: after.Name, Subject: Subject{Kind: KindSource, Cluster: after.Cluster, Name: after.Name},
		What: "source", Before: string(before.Status), After: is,
	}, news && after.Status != SourceConnecting
}
