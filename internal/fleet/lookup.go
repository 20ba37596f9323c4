package fleet

import "strconv"

// lookups are a Snapshot's tables.
type lookups struct {
	nodes  map[string]*Node
	jobs   map[JobKey]*Job
	onNode map[string][]*Job
}

// NewSnapshot publishes what it is given as an immutable snapshot with its
// look-up tables. The caller gives up s and everything reachable from it.
func NewSnapshot(s Snapshot) *Snapshot {
	s.nodes = make(map[string]*Node, len(s.Nodes))
	host := map[viewKey]string{} // of nodes whose scheduler has another name for them
	for _, n := range s.Nodes {
		s.nodes[n.Name] = n
		for i := range n.Views {
			if v := &n.Views[i]; v.Node != n.Name {
				host[keyOf(v)] = n.Name
			}
		}
	}
	for key, name := range host {
		if s.nodes[key.node] == nil {
			s.nodes[key.node] = s.nodes[name]
		}
	}
	s.jobs = make(map[JobKey]*Job, len(s.Jobs))
	s.onNode = make(map[string][]*Job)
	for _, j := range s.Jobs {
		s.jobs[j.Key] = j
		if !j.Active() {
			continue
		}
		for _, n := range j.Nodes {
			if name, ok := host[viewKey{j.Key.Cluster, n}]; ok {
				n = name
			}
			s.onNode[n] = append(s.onNode[n], j)
		}
	}
	return &s
}

// Node returns the node of that name, or nil. A scheduler's own name of it does too.
func (s *Snapshot) Node(name string) *Node { return s.nodes[name] }

// Job returns the job of that key, or nil.
func (s *Snapshot) Job(k JobKey) *Job { return s.jobs[k] }

// JobsOn returns the jobs that hold something on the node, in snapshot order.
func (s *Snapshot) JobsOn(node string) []*Job { return s.onNode[node] }

// Cluster returns the cluster of that name, or nil.
func (s *Snapshot) Cluster(name string) *Cluster {
	for i := range s.Clusters {
		if s.Clusters[i].Name == name {
			return &s.Clusters[i]
		}
	}
	return nil
}

// SourceOf returns the state of the source that reports the cluster's scheduler,
// or nil.
func (s *Snapshot) SourceOf(cluster string) *SourceState {
	for i := range s.Sources {
		if s.Sources[i].Cluster == cluster {
			return &s.Sources[i]
		}
	}
	return nil
}

// FindJobs returns every record that a person means by id: the exact id, the key,
// all tasks of a job array by its array id, all components of a het job by its
// leader's id. cluster may be empty for all clusters. The order is the snapshot's.
func (s *Snapshot) FindJobs(cluster, id string) []*Job {
	var exact, family []*Job
	for _, j := range s.Jobs {
		if cluster != "" && j.Key.Cluster != cluster {
			continue
		}
		switch {
		case j.ID == id || j.Key.ID == id:
			exact = append(exact, j)
		case j.inFamily(id):
			family = append(family, j)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return family
}

// inFamily reports whether id is the array id or the het leader's id of the job.
func (j *Job) inFamily(id string) bool {
	return j.Array != nil && strconv.FormatInt(j.Array.JobID, 10) == id ||
		j.Het != nil && strconv.FormatInt(j.Het.JobID, 10) == id
}
