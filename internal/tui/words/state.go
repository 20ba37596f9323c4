package words

import (
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/line"
)

// ViewState is a scheduler's own words for a node: MIXED+DRAIN.
func ViewState(v *fleet.View) string {
	if len(v.Flags) == 0 {
		return line.Clean(Or(v.Base))
	}
	return line.Clean(Or(v.Base) + "+" + strings.Join(v.Flags, "+"))
}

// NodeState is the words of every scheduler that knows the node. Two schedulers
// that say the same are said once.
func NodeState(n *fleet.Node) string {
	if len(n.Views) == 0 {
		return "not known to any scheduler"
	}
	words := make([]string, 0, len(n.Views))
	for i := range n.Views {
		if w := ViewState(&n.Views[i]); len(words) == 0 || words[len(words)-1] != w {
			words = append(words, w)
		}
	}
	return strings.Join(words, " | ")
}

// Condition is the node's condition in one word; a drain is told apart as
// draining (work still on it) or drained.
func Condition(n *fleet.Node) string {
	c := n.Condition()
	if c != fleet.CondDraining {
		return c.String()
	}
	for i := range n.Views {
		if n.Views[i].Draining() {
			return "draining"
		}
	}
	return "drained"
}

// JobState is a job's own words: RUNNING, PENDING, CANCELLED+COMPLETING.
func JobState(j *fleet.Job) string {
	if len(j.Flags) == 0 {
		return line.Clean(Or(j.Base))
	}
	return line.Clean(Or(j.Base) + "+" + strings.Join(j.Flags, "+"))
}

// Reason is a pending reason in the scheduler's own words; empty when there is none.
func Reason(r fleet.PendingReason) string {
	switch {
	case r.Absent():
		return ""
	case r.Text == "" || r.Text == r.Code:
		return line.Clean(r.Code)
	}
	return line.Clean(r.Code + ", " + r.Text)
}

// Queues joins partition names for one cell.
func Queues(q []string) string {
	if len(q) == 0 {
		return None
	}
	return line.Clean(strings.Join(q, ","))
}
