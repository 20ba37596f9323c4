package tui

import (
	"fmt"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// kindOf is what a verb acts on.
func kindOf(v actions.Verb) fleet.Kind {
	switch v {
	case actions.Drain, actions.Undrain, actions.MIGApply, actions.GPUReset:
		return fleet.KindNode
	}
	return fleet.KindJob
}

// refusal says why verb cannot be used on any of the targets now; empty when it
// can on at least one. The plan, made from the engine's own view, has the last word.
func refusal(s *fleet.Snapshot, now time.Time, verb actions.Verb, targets []actions.Target) string {
	if len(targets) == 0 {
		return fmt.Sprintf("no %s selected", kindOf(verb))
	}
	var first string
	for _, t := range targets {
		why := refuseOne(s, now, verb, t)
		if why == "" {
			return ""
		}
		if first == "" {
			first = why
		}
	}
	return first
}

func refuseOne(s *fleet.Snapshot, now time.Time, verb actions.Verb, t actions.Target) string {
	if t.Kind != kindOf(verb) {
		return fmt.Sprintf("%s is a %s, not a %s", t.Name, t.Kind, kindOf(verb))
	}
	if why := sourceRefusal(s.SourceOf(t.Cluster), now); why != "" {
		return why
	}
	if t.Kind == fleet.KindJob {
		return jobRefusal(s.Job(t.Job), verb)
	}
	n := s.Node(t.Name)
	if n == nil {
		return t.Name + " is gone"
	}
	if why := rightRefusal(s.Cluster(t.Cluster)); why != "" {
		return why
	}
	return nodeRefusal(n.View(t.Cluster), verb)
}

func sourceRefusal(src *fleet.SourceState, now time.Time) string {
	switch {
	case src == nil:
		return "no source reports this cluster"
	case src.Usable():
		return ""
	case src.LastSuccess.IsZero():
		return fmt.Sprintf("%s is %s: it has not answered yet", src.Name, src.Status)
	}
	return fmt.Sprintf("%s is %s: its data are %s old", src.Name, src.Status, words.Span(src.Age(now)))
}

func rightRefusal(c *fleet.Cluster) string {
	if c == nil {
		return ""
	}
	switch c.Identity.Role {
	case fleet.RoleUser, fleet.RoleOperator:
		return fmt.Sprintf("%s is %s on %s; changing nodes needs administrator", c.Identity.User, c.Identity.Role, c.Name)
	}
	return ""
}

func nodeRefusal(v *fleet.View, verb actions.Verb) string {
	switch {
	case v == nil:
		return "its scheduler does not list it"
	case verb == actions.Drain && v.Has(fleet.FlagDrain):
		return "already " + drainWord(v)
	case verb == actions.Undrain && !v.Has(fleet.FlagDrain) && v.Base != fleet.BaseDown:
		return "not drained"
	}
	return ""
}

func drainWord(v *fleet.View) string {
	if v.Draining() {
		return "draining"
	}
	return "drained"
}

func jobRefusal(j *fleet.Job, verb actions.Verb) string {
	switch {
	case j == nil:
		return "the job is gone"
	case j.Done():
		return "it has ended: " + words.JobState(j)
	}
	switch verb {
	case actions.Requeue:
		return requeueRefusal(j)
	case actions.Preempt, actions.Suspend:
		return unless(j.Base == fleet.JobRunning, "it does not run")
	case actions.Unsuspend:
		return unless(j.Base == fleet.JobSuspended, "it is not suspended")
	case actions.Hold:
		return unless(j.Waiting() && !j.Held(), "only a waiting job that is not held can be held")
	case actions.Release:
		return unless(j.Held(), "it is not held")
	}
	return ""
}

func requeueRefusal(j *fleet.Job) string {
	if j.Waiting() {
		return "it waits already"
	}
	return unless(j.Requeue, "it was submitted with --no-requeue")
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}
