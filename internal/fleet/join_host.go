package fleet

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// rawJob names a job by its scheduler's own number, which is what a process on a node
// carries: array tasks have their own.
type rawJob struct {
	cluster string
	id      int64
}

// updated is the node of prev with another report; the same node when that is the same.
func (j *join) updated(prev *joined, r *HostReport) *Node {
	if prev.report == r {
		return prev.node
	}
	n := *prev.node
	if prev.report != nil && r != nil && sharesGPUs(prev.report.GPUs, r.GPUs) {
		n.Agent = r.agent()
		return &n
	}
	j.equip(&n, prev.holders, r)
	return &n
}

// equip gives a node its agent and its devices.
func (j *join) equip(n *Node, holders []holder, r *HostReport) {
	if r == nil {
		n.Agent, n.GPUs = nil, gpusOf(n.Name, n.Views, holders)
		return
	}
	n.Agent, n.GPUs = r.agent(), j.provenGPUs(n, holders, r)
}

// refresh makes the nodes anew whose reports changed; everything else is shared with
// the snapshot before.
func (j *join) refresh(before *Snapshot, feeds map[string]*feed, changed []reportKey) ([]*Node, lookups) {
	nodes, tables := slices.Clone(before.Nodes), before.lookups
	tables.nodes = maps.Clone(tables.nodes)
	for _, key := range changed {
		name := j.at[key]
		h := j.prev[name]
		var best *HostReport
		for _, k := range h.sources {
			if r := feeds[k.source].hosts[k.host]; r.better(best) {
				best = r
			}
		}
		h.node, h.report = j.updated(h, best), best
		nodes[h.index] = h.node
		tables.nodes[name] = h.node
		for i := range h.node.Views { // a scheduler's own name for it
			if v := h.node.Views[i].Node; tables.nodes[v] == before.Nodes[h.index] {
				tables.nodes[v] = h.node
			}
		}
	}
	return nodes, tables
}

// place finds out of which node every report is, and gives nodes one name that are
// proven to be one machine: same machine and same boot. (Images are cloned with their
// machine id; no two boots are the same.) It also lists the jobs that hold something.
func (j *join) place(feeds []*feed, names []map[viewKey]string) {
	known := map[string]bool{}
	reports := 0
	for i, f := range feeds {
		reports += len(f.hosts)
		for _, name := range names[i] {
			known[name] = true
		}
	}
	j.at, j.jobs = make(map[reportKey]string, reports), nil
	if reports == 0 {
		return
	}
	machines := map[[2]string][]string{}
	for _, f := range feeds {
		for host, r := range f.hosts {
			name := strings.ToLower(host)
			if !known[name] {
				name = j.hostName(viewKey{node: host})
			}
			j.at[reportKey{f.source, host}] = name
			if r.Agent.Machine != "" && r.Agent.BootID != "" {
				key := [2]string{r.Agent.Machine, r.Agent.BootID}
				machines[key] = append(machines[key], name)
			}
		}
	}
	j.unite(machines, names)
	j.jobs = activeJobs(feeds)
}

// unite gives all names of one machine the first of them in natural order.
func (j *join) unite(machines map[[2]string][]string, names []map[viewKey]string) {
	alias := map[string]string{}
	for _, same := range machines {
		first := slices.MinFunc(same, CompareNatural)
		for _, name := range same {
			if name != first {
				alias[name] = first
			}
		}
	}
	if len(alias) == 0 {
		return
	}
	for _, of := range names {
		for key, name := range of {
			if first, ok := alias[name]; ok {
				of[key] = first
			}
		}
	}
	for key, name := range j.at {
		if first, ok := alias[name]; ok {
			j.at[key] = first
		}
	}
}

// activeJobs lists the jobs that hold something by their scheduler's own numbers.
func activeJobs(feeds []*feed) map[rawJob]*Job {
	out := map[rawJob]*Job{}
	for _, f := range feeds {
		for _, job := range f.sorted {
			if job.RawID != 0 && job.Active() {
				out[rawJob{job.Key.Cluster, job.RawID}] = job
			}
		}
	}
	return out
}

// named is an owner as an agent found it, with what the schedulers of its host tell of
// that job. An agent knows a Slurm job's number, not which cluster the number is of.
func (j *join) named(o Owner, n *Node) Owner {
	if o.Job.Cluster != "" || o.Job.ID == "" {
		return o
	}
	id, err := strconv.ParseInt(o.Job.ID, 10, 64)
	if err != nil {
		return o
	}
	slurms := 0
	for i := range n.Views {
		v := &n.Views[i]
		if v.Kind != Slurm {
			continue
		}
		if job := j.jobs[rawJob{v.Cluster, id}]; job != nil {
			o.Job, o.Name, o.User = job.Key, job.Name, job.User
			return o
		}
		if slurms++; slurms == 1 {
			o.Job.Cluster = v.Cluster // a job that has ended there, unless another cluster is on this host as well
		}
	}
	if slurms != 1 {
		o.Job.Cluster = ""
	}
	return o
}
