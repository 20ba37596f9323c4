package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Holder is a job that holds GPUs which a waiting job could use.
type Holder struct {
	Job *fleet.Job
	// Ends is when its time limit ends it; zero when it has none that is known.
	Ends time.Time
}

// Holders lists who holds the room that j waits for: running jobs of its cluster
// with GPUs of its model on nodes of its queues, first to end first.
func Holders(s *fleet.Snapshot, j *fleet.Job) []Holder {
	queues := strings.Split(j.Queue, ",")
	var all []Holder
	for _, o := range s.Jobs {
		if o.Active() && o.Key.Cluster == j.Key.Cluster && o.GPUs.Held > 0 && sameModel(o, j) && inReach(s, o, queues) {
			all = append(all, Holder{Job: o, Ends: endOf(o)})
		}
	}
	slices.SortStableFunc(all, func(a, b Holder) int { return earlier(a.Ends, b.Ends) })
	return all
}

func sameModel(a, b *fleet.Job) bool {
	return a.GPUs.Model == "" || b.GPUs.Model == "" || a.GPUs.Model == b.GPUs.Model
}

// inReach reports a job with a node in any of the queues.
func inReach(s *fleet.Snapshot, o *fleet.Job, queues []string) bool {
	for _, name := range o.Nodes {
		n := s.Node(name)
		if n == nil {
			continue
		}
		v := n.View(o.Key.Cluster)
		if v != nil && slices.ContainsFunc(v.Queues, func(q string) bool { return slices.Contains(queues, q) }) {
			return true
		}
	}
	return false
}

func endOf(j *fleet.Job) time.Time {
	if j.Limit.Kind != fleet.LimitSet || j.Started.IsZero() {
		return time.Time{}
	}
	return j.Started.Add(j.Limit.Duration)
}

// earlier compares times; one that is not known comes last.
func earlier(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}

// largest names the users who hold most: "alice 320, bob 24".
func largest(holders []Holder) string {
	held := map[string]int{}
	for _, h := range holders {
		held[h.Job.User] += h.Job.GPUs.Held
	}
	users := slices.SortedFunc(maps.Keys(held), func(a, b string) int {
		return cmp.Or(cmp.Compare(held[b], held[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(users))
	for _, u := range users {
		parts = append(parts, fmt.Sprintf("%s %s", u, words.Count(held[u])))
	}
	return strings.Join(parts, ", ")
}
