package audit

import (
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
)

// Act is all that the log has of one plan that was run, or refused.
type Act struct {
	Plan     string
	At       time.Time // of its first record
	Who      Who
	Verb     actions.Verb
	Targets  []string
	Clusters []string
	As       []string // whom it was done as, where: "gpuadm on ai_cluster"
	Reason   string
	Ticket   string
	Override string          // the cluster whose cap was lifted
	Result   actions.Outcome // empty: no end was recorded
	Detail   string
	Steps    []Record // what became of its steps, and what is not known to have ended
}

// Acts gathers records by plan, in the order of their begin.
func Acts(records []Record) []Act {
	index := map[string]int{}
	var acts []Act
	for i := range records {
		r := &records[i]
		at, ok := index[r.Plan]
		if !ok {
			at = len(acts)
			index[r.Plan] = at
			acts = append(acts, Act{Plan: r.Plan, At: r.At, Who: r.Who, Verb: r.Verb, Reason: r.Reason, Ticket: r.Ticket})
		}
		acts[at].add(r)
	}
	return acts
}

func (a *Act) add(r *Record) {
	a.Override = r.Override
	for c := range strings.SplitSeq(r.Cluster, "+") {
		a.Clusters = addNew(a.Clusters, c)
	}
	if r.As != "" {
		a.As = addNew(a.As, r.As+" on "+r.Cluster)
	}
	for _, t := range append([]string{r.Target.Name}, r.Targets...) {
		a.Targets = addNew(a.Targets, t)
	}
	switch r.Phase {
	case actions.PhaseDone, actions.PhaseRefused:
		a.Result, a.Detail = r.Result, r.Detail
	case actions.PhaseBefore:
		a.Steps = append(a.Steps, *r)
	case actions.PhaseAfter:
		a.endStep(r)
	}
}

// endStep puts a step's end in the place of its begin.
func (a *Act) endStep(r *Record) {
	i := slices.IndexFunc(a.Steps, func(s Record) bool { return s.Step == r.Step })
	if i < 0 {
		a.Steps = append(a.Steps, *r)
		return
	}
	end := *r
	end.At = a.Steps[i].At
	a.Steps[i] = end
}

// Title is the act in a few words: "drain gpu-node017".
func (a *Act) Title() string { return string(a.Verb) + " " + someOf(a.Targets) }

// Outcome is the result in words, also when none was recorded.
func (a *Act) Outcome() string {
	if a.Result == "" {
		return "no end recorded"
	}
	return a.Result.Words()
}

// unsettled reports an act whose effect nobody has seen.
func (a *Act) unsettled() bool { return a.Result == "" || a.Result == actions.NotVerified }

// settledBy reports that one of the later acts has been seen to work on the same
// targets: whatever became of the first, it no longer matters.
func (a *Act) settledBy(later []Act) bool {
	return slices.ContainsFunc(later, func(b Act) bool {
		return b.Result == actions.Verified && containsAll(b.Targets, a.Targets) && containsAll(b.Clusters, a.Clusters)
	})
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
}

// why is the reason and the ticket.
func (a *Act) why() string {
	if a.Ticket == "" {
		return a.Reason
	}
	return strings.TrimSpace(a.Reason + " [" + a.Ticket + "]")
}

// outOfService lists the ends of the last drain of each node that no later undrain
// took back.
func outOfService(records []Record) []Record {
	type key struct{ cluster, node string }
	last := map[key]Record{}
	var order []key
	for _, r := range records {
		if r.Phase != actions.PhaseAfter || r.Result != actions.Verified {
			continue
		}
		k := key{r.Cluster, r.Target.Name}
		switch r.Verb {
		case actions.Drain:
			if _, ok := last[k]; !ok {
				last[k] = r
				order = append(order, k)
			}
		case actions.Undrain:
			delete(last, k)
		}
	}
	var out []Record
	for _, k := range order {
		if r, ok := last[k]; ok {
			out = append(out, r)
			delete(last, k)
		}
	}
	return out
}

// addNew appends what is neither empty nor in the list yet.
func addNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
