package triage

import (
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// explainUnavailable names the nodes that a job needs and cannot have, with what is
// wrong with each.
func explainUnavailable(j *fleet.Job, s *fleet.Snapshot) Explanation {
	_, list, ok := strings.Cut(j.Reason.Text, "UnavailableNodes:")
	names, err := fleet.ExpandHosts(strings.TrimSpace(list), fleet.MaxHosts)
	switch {
	case !ok && strings.Contains(j.Reason.Text, "reserved for other job"):
		return waits("nodes that it asks for may be reserved for another job", "it starts when that job has, or the reservation ends")
	case !ok || err != nil || len(names) == 0:
		return waits("nodes that it asks for are in use, reserved or out of service", "look at the nodes it asks for: "+orNone(j.ReqNodes))
	}
	down := 0
	var parts []string
	for _, name := range names {
		state := "not known"
		if n := s.Node(name); n != nil && n.View(j.Key.Cluster) != nil {
			v := n.View(j.Key.Cluster)
			state = stateOf(v)
			if v.Faulty() || v.Has(fleet.FlagDrain) {
				down++
			}
		}
		if len(parts) < maxHolders {
			parts = append(parts, name+" "+state)
		}
	}
	plain := "needs nodes that are not available: " + strings.Join(parts, ", ")
	if more := len(names) - len(parts); more > 0 {
		plain += fmt.Sprintf(" and %d more", more)
	}
	if down == 0 {
		return waits(plain, "it starts when these nodes take work again")
	}
	return stuck(plain, "repair or undrain these nodes, or let the job do without them")
}

// explainNodesOut covers "Nodes required for job are DOWN, DRAINED or reserved for
// jobs in higher priority partitions".
func explainNodesOut(j *fleet.Job, s *fleet.Snapshot) Explanation {
	e := waits(wanted(j)+room(j, s)+"; nodes that it needs are down, drained or kept for jobs of a higher partition",
		"bring nodes back, or wait for the jobs of the higher partition")
	e.Holders, e.Severity = holders(j, s), fleet.Warning
	for q := range strings.SplitSeq(j.Queue, ",") {
		if _, out := s.RoomIn(j.Key.Cluster, q); out > 0 {
			e.NeedsOperator = true
		}
	}
	return e
}

// stateOf is a scheduler's words for a node, with the reason.
func stateOf(v *fleet.View) string {
	text := v.Base
	if len(v.Flags) > 0 {
		text += "+" + strings.Join(v.Flags, "+")
	}
	if v.Reason.Text != "" {
		text += fmt.Sprintf(" (%s)", v.Reason.Text)
	}
	return text
}

func orNone(s string) string {
	if s == "" {
		return "none named"
	}
	return s
}

// explainDependency names the jobs that it waits for, with their states.
func explainDependency(j *fleet.Job, s *fleet.Snapshot) Explanation {
	e := waits("waits for another job", "it becomes eligible when that job ends as it asks")
	names := make([]string, 0, 2)
	for _, d := range dependencies(j.Dependency) {
		if len(names) == maxHolders {
			break
		}
		name := d.kind + " " + d.id
		if other := s.JobByID(j.Key.Cluster, d.id); other != nil {
			name += " (" + other.Base + ")"
			e.Holders = append(e.Holders, other)
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		e.Plain = "waits for other jobs: " + strings.Join(names, ", ")
	}
	return e
}

func explainNeverSatisfied(j *fleet.Job, s *fleet.Snapshot) Explanation {
	e := explainDependency(j, s)
	e.Plain = "can never start: what it depends on did not end as it asks (" + orNone(j.Dependency) + ")"
	e.Next = "its owner cancels it, or changes its dependency: scontrol update jobid=" + j.ID + " dependency="
	e.NeedsOperator, e.Severity = true, fleet.Warning
	return e
}

// dependency is one condition on another job.
type dependency struct{ kind, id string }

// dependencies reads "afterok:1(unfulfilled):2,afterany:8_*". Conditions without a
// job ("singleton") are passed over.
func dependencies(text string) []dependency {
	var out []dependency
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '?' }) {
		ids := strings.Split(part, ":")
		for _, id := range ids[1:] {
			id, _, _ = strings.Cut(id, "(")
			id, _, _ = strings.Cut(id, "+") // after:5+10: minutes
			if id = strings.TrimSpace(id); id != "" {
				out = append(out, dependency{ids[0], id})
			}
		}
	}
	return out
}
