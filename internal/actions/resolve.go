package actions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// ResolveNodes turns host lists into targets. Every name must be a node of the
// fleet, else nothing is returned: half a list acted on is worse than none.
// cluster may be empty when the names leave no choice.
func ResolveNodes(snap *fleet.Snapshot, cluster string, args []string) ([]Target, error) {
	if err := knownCluster(snap, cluster); err != nil {
		return nil, err
	}
	var targets []Target
	var problems []string
	for _, arg := range args {
		names, err := fleet.ExpandHosts(arg, fleet.MaxHosts)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInput, err)
		}
		for _, name := range names {
			t, problem := resolveNode(snap, cluster, name)
			if problem != "" {
				problems = append(problems, problem)
			}
			targets = append(targets, t)
		}
	}
	return resolved(targets, problems)
}

// resolveNode finds the one view that is meant by a name: the node's own, or the
// one that a scheduler has for it.
func resolveNode(snap *fleet.Snapshot, cluster, name string) (Target, string) {
	n := snap.Node(name)
	if n == nil {
		n = nodeBySchedulerName(snap, cluster, name)
	}
	if n == nil {
		return Target{}, name + " is not in the fleet"
	}
	var on []string
	for i := range n.Views {
		if cluster == "" || n.Views[i].Cluster == cluster {
			on = append(on, n.Views[i].Cluster)
		}
	}
	switch len(on) {
	case 0:
		return Target{}, name + " is not a node of " + orAny(cluster)
	case 1:
		return Target{Kind: fleet.KindNode, Cluster: on[0], Name: n.Name}, ""
	}
	return Target{}, name + " is on " + strings.Join(on, " and ") + ": say which with --cluster"
}

// nodeBySchedulerName finds the node that exactly one host has under that name.
func nodeBySchedulerName(snap *fleet.Snapshot, cluster, name string) *fleet.Node {
	var found *fleet.Node
	for _, n := range snap.Nodes {
		for i := range n.Views {
			v := &n.Views[i]
			if v.Node != name || cluster != "" && v.Cluster != cluster || n == found {
				continue
			}
			if found != nil {
				return nil
			}
			found = n
		}
	}
	return found
}

// ResolveJobs turns job ids into targets. The id of a job array or of a het job
// stands for all of it that has not ended; the plan then says how many that are.
// As with nodes, an id that nothing has refuses them all.
func ResolveJobs(snap *fleet.Snapshot, cluster string, ids []string) ([]Target, error) {
	if err := knownCluster(snap, cluster); err != nil {
		return nil, err
	}
	var targets []Target
	var problems []string
	for _, id := range ids {
		jobs := current(snap.FindJobs(cluster, id))
		if problem := unclear(id, cluster, jobs); problem != "" {
			problems = append(problems, problem)
			continue
		}
		for _, j := range jobs {
			targets = append(targets, Target{Kind: fleet.KindJob, Cluster: j.Key.Cluster, Name: j.ID, Job: j.Key})
		}
	}
	return resolved(uncovered(targets, snap), problems)
}

// uncovered drops the tasks of an array that another target names as well: "8_5"
// beside "8_[4-7]", or beside the whole of 8.
func uncovered(targets []Target, snap *fleet.Snapshot) []Target {
	covers := func(a, b Target) bool {
		j := snap.Job(a.Job)
		if a.Job != b.Job || a.Name == b.Name || j == nil {
			return false
		}
		if part, ok := j.Narrow(a.Name); ok {
			j = part
		}
		_, within := j.Narrow(b.Name)
		return within
	}
	return slices.DeleteFunc(slices.Clone(targets), func(b Target) bool {
		return slices.ContainsFunc(targets, func(a Target) bool { return covers(a, b) })
	})
}

// current drops ended records when one of the others is meant: ids are used
// again, and an array's finished tasks are not its work. Of ended ones only the
// newest of each id is meant.
func current(jobs []*fleet.Job) []*fleet.Job {
	var live []*fleet.Job
	newest := map[string]*fleet.Job{}
	for _, j := range jobs {
		if !j.Done() {
			live = append(live, j)
		}
		key := j.Key.Cluster + " " + j.Key.ID
		if have := newest[key]; have == nil || have.Key.Submit < j.Key.Submit {
			newest[key] = j
		}
	}
	if len(live) > 0 {
		return live
	}
	var last []*fleet.Job
	for _, j := range jobs {
		if newest[j.Key.Cluster+" "+j.Key.ID] == j {
			last = append(last, j)
		}
	}
	return last
}

// unclear says why the records found cannot be what id means; empty when they can.
func unclear(id, cluster string, jobs []*fleet.Job) string {
	if len(jobs) == 0 {
		return "no job " + id + " on " + orAny(cluster)
	}
	var on []string
	for _, j := range jobs {
		on = addNew(on, j.Key.Cluster)
	}
	if len(on) > 1 {
		return "job " + id + " is on " + strings.Join(on, " and ") + ": say which with --cluster"
	}
	return ""
}

// families says how many tasks or components are meant, where one id may have
// stood for many: "job array 8 on slurm: 5 tasks".
func families(targets []Target, snap *fleet.Snapshot) []string {
	type family struct {
		kind    string
		id      int64
		cluster string
		parts   string
	}
	counts := map[family]int{}
	var order []family
	for _, t := range targets {
		j := snap.Job(t.Job)
		if j != nil {
			if part, ok := j.Narrow(t.Name); ok {
				j = part
			}
		}
		var f family
		n := 1
		switch {
		case j == nil || j.Array == nil && j.Het == nil:
			continue
		case j.Array != nil:
			f, n = family{"job array", j.Array.JobID, t.Cluster, "tasks"}, max(1, j.Array.Count)
		default:
			f = family{"heterogeneous job", j.Het.JobID, t.Cluster, "components"}
		}
		if counts[f] == 0 {
			order = append(order, f)
		}
		counts[f] += n
	}
	var out []string
	for _, f := range order {
		if counts[f] > 1 {
			out = append(out, fmt.Sprintf("%s %d on %s: %d %s", f.kind, f.id, f.cluster, counts[f], f.parts))
		}
	}
	return out
}

func knownCluster(snap *fleet.Snapshot, cluster string) error {
	if cluster == "" || snap.Cluster(cluster) != nil || snap.SourceOf(cluster) != nil {
		return nil
	}
	return fmt.Errorf("%w: there is no cluster %q", ErrInput, cluster)
}

func resolved(targets []Target, problems []string) ([]Target, error) {
	switch {
	case len(problems) > 0:
		return nil, fmt.Errorf("%w: %s; nothing was done", ErrInput, listWords(problems, 10))
	case len(targets) == 0:
		return nil, fmt.Errorf("%w: no name given", ErrInput)
	}
	return dedupe(targets), nil
}

func orAny(cluster string) string {
	if cluster == "" {
		return "any cluster"
	}
	return cluster
}
