package fleet

import (
	"cmp"
	"slices"
	"strconv"
)

// lookups are a Snapshot's tables.
type lookups struct {
	nodes  map[string]*Node
	jobs   map[JobKey]*Job
	onNode map[string][]*Job
	byID   map[idKey]*Job
	queues map[queueKey]*queueUse
	held   map[userKey]int // GPUs
}

// queueKey names a queue of a cluster.
type queueKey struct{ cluster, queue string }

// userKey names a user within a QOS; an empty user is all of them.
type userKey struct{ cluster, qos, user string }

// queueUse is who holds the GPUs of a queue, how many nobody does, and how many
// nobody can.
type queueUse struct {
	holders []*Job
	free    int
	out     int
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
	s.byID = make(map[idKey]*Job, len(s.Jobs))
	s.countFree(s.Nodes)
	for _, j := range s.Jobs {
		s.jobs[j.Key] = j
		s.byID[idKey{j.Key.Cluster, j.Key.ID}] = j
		if !j.Active() {
			continue
		}
		s.lookups.holds(j)
		for _, n := range j.Nodes {
			if name, ok := host[viewKey{j.Key.Cluster, n}]; ok {
				n = name
			}
			s.onNode[n] = append(s.onNode[n], j)
		}
	}
	for _, u := range s.queues {
		slices.SortStableFunc(u.holders, func(a, b *Job) int { return cmp.Compare(b.GPUs.Held, a.GPUs.Held) })
	}
	return &s
}

// countFree counts the GPUs that each queue could give away now, and cannot.
func (l *lookups) countFree(nodes []*Node) {
	l.queues, l.held = map[queueKey]*queueUse{}, map[userKey]int{}
	for _, n := range nodes {
		for i := range n.Views {
			v := &n.Views[i]
			free, out := v.GPUs.Free(), 0
			if c := v.Condition(); c != CondFree && c != CondBusy || !v.takesWork() {
				free, out = 0, v.GPUs.Total
			}
			for _, q := range v.Queues {
				u := l.use(v.Cluster, q)
				u.free, u.out = u.free+free, u.out+out
			}
		}
	}
}

func (l *lookups) use(cluster, queue string) *queueUse {
	key := queueKey{cluster, queue}
	if l.queues[key] == nil {
		l.queues[key] = &queueUse{}
	}
	return l.queues[key]
}

// holds notes what an active job holds.
func (l *lookups) holds(j *Job) {
	if j.GPUs.Held == 0 {
		return
	}
	u := l.use(j.Key.Cluster, j.Queue)
	u.holders = append(u.holders, j)
	l.held[userKey{j.Key.Cluster, j.QOS, j.User}] += j.GPUs.Held
	l.held[userKey{j.Key.Cluster, j.QOS, ""}] += j.GPUs.Held
}

// Node returns the node of that name, or nil. A scheduler's own name of it does too.
func (s *Snapshot) Node(name string) *Node { return s.nodes[name] }

// Job returns the job of that key, or nil.
func (s *Snapshot) Job(k JobKey) *Job { return s.jobs[k] }

// JobsOn returns the jobs that hold something on the node, in snapshot order.
func (s *Snapshot) JobsOn(node string) []*Job { return s.onNode[node] }

// JobByID returns the job with that Key.ID, whenever it was submitted, or nil.
func (s *Snapshot) JobByID(cluster, id string) *Job { return s.byID[idKey{cluster, id}] }

// HoldersIn returns the jobs that hold GPUs in the queue, the largest first.
func (s *Snapshot) HoldersIn(cluster, queue string) []*Job {
	if u := s.queues[queueKey{cluster, queue}]; u != nil {
		return u.holders
	}
	return nil
}

// RoomIn counts the GPUs on the queue's nodes that are free and in service, and those
// whose node is out of service.
func (s *Snapshot) RoomIn(cluster, queue string) (free, out int) {
	if u := s.queues[queueKey{cluster, queue}]; u != nil {
		return u.free, u.out
	}
	return 0, 0
}

// HeldBy counts the GPUs that a user's jobs hold within a QOS; an empty user
// counts everybody's.
func (s *Snapshot) HeldBy(cluster, qos, user string) int { return s.held[userKey{cluster, qos, user}] }

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
// leader's id; or, of an array's waiting rest, the tasks that id names (see
// Job.Narrow). cluster may be empty for all clusters. The order is the snapshot's.
func (s *Snapshot) FindJobs(cluster, id string) []*Job {
	var exact, family, tasks []*Job
	for _, j := range s.Jobs {
		if cluster != "" && j.Key.Cluster != cluster {
			continue
		}
		switch {
		case j.ID == id || j.Key.ID == id:
			exact = append(exact, j)
		case j.inFamily(id):
			family = append(family, j)
		default:
			if n, ok := j.Narrow(id); ok {
				tasks = append(tasks, n)
			}
		}
	}
	switch {
	case len(exact) > 0:
		return exact
	case len(family) > 0:
		return family
	}
	return tasks
}

// inFamily reports whether id is the array id or the het leader's id of the job.
func (j *Job) inFamily(id string) bool {
	return j.Array != nil && strconv.FormatInt(j.Array.JobID, 10) == id ||
		j.Het != nil && strconv.FormatInt(j.Het.JobID, 10) == id
}
