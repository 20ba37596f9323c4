package fleet

import "slices"

// provenGPUs lists the devices of a host as its agent sees them, with the owners that
// the agent and every scheduler name. When those differ, all of them are kept.
func (j *join) provenGPUs(n *Node, holders []holder, r *HostReport) []GPU {
	gpus := make([]GPU, len(r.GPUs), len(r.GPUs)+1)
	for i := range r.GPUs {
		gpus[i] = j.ownedByAgent(&r.GPUs[i], n)
	}
	for i := range n.Views {
		gpus = missing(gpus, n.Name, &n.Views[i], len(r.GPUs))
	}
	for i := range n.Views {
		o := holders[i].ownerIn(n.Views[i].Cluster)
		for _, index := range heldIndices(&n.Views[i], maxGPUs) {
			if at, proven := deviceOf(gpus, index); at >= 0 {
				gpus[at].addOwner(o, proven)
			}
		}
	}
	return gpus
}

// ownedByAgent is a device as the agent sees it, its owners named. Nothing of the
// report changes.
func (j *join) ownedByAgent(g *GPU, n *Node) GPU {
	out := *g
	out.Node = n.Name
	out.Owners = j.namedAll(g.Owners, n)
	for i := range g.Processes {
		if o := j.named(g.Processes[i].Owner, n); o != g.Processes[i].Owner {
			if &out.Processes[0] == &g.Processes[0] {
				out.Processes = slices.Clone(g.Processes)
			}
			out.Processes[i].Owner = o
		}
	}
	for i := range g.MIG.Instances {
		if len(g.MIG.Instances[i].Owners) == 0 {
			continue
		}
		if &out.MIG.Instances[0] == &g.MIG.Instances[0] {
			out.MIG.Instances = slices.Clone(g.MIG.Instances)
		}
		out.MIG.Instances[i].Owners = j.namedAll(g.MIG.Instances[i].Owners, n)
	}
	return out
}

func (j *join) namedAll(owners []Owner, n *Node) []Owner {
	out := slices.Clone(owners)
	for i := range out {
		out[i] = j.named(out[i], n)
	}
	return out
}

// missing adds the devices that a scheduler counts and the agent does not list. An
// agent that lists none has no driver to ask; then nobody knows what is there.
func missing(gpus []GPU, node string, v *View, listed int) []GPU {
	models := gpuModels(v)
	for index := 0; index < len(models) && len(gpus) < len(models); index++ {
		if at, _ := deviceOf(gpus, index); at >= 0 {
			continue
		}
		g := GPU{Node: node, Index: index, Minor: -1, Model: models[index]}
		if listed > 0 {
			g.Health = GPUHealth{State: GPUMissing, Why: v.Cluster + " counts it, the node's agent does not list it"}
		}
		gpus = append(gpus, g)
	}
	return gpus
}

// deviceOf finds the device that a scheduler means by an index; -1 when there is none.
// Slurm's index is the device's minor number, which may differ from the driver's own
// order. Where no minor is told the driver's index must do, and proves nothing.
func deviceOf(gpus []GPU, index int) (at int, proven bool) {
	for i := range gpus {
		if gpus[i].Minor == index {
			return i, gpus[i].UUID != ""
		}
	}
	for i := range gpus {
		if gpus[i].Minor < 0 && gpus[i].Index == index {
			return i, false
		}
	}
	return -1, false
}

// addOwner adds what a scheduler says of who holds the device. Who is the same is not
// listed twice, and a scheduler that does not know who gives way to the agent.
func (g *GPU) addOwner(o Owner, proven bool) {
	o.Proven = proven
	for i := range g.Owners {
		a := &g.Owners[i]
		switch {
		case a.Job == o.Job && o.Job.ID != "":
			o.Proven, o.At = proven || a.Proven, a.At
			*a = o
			return
		case o.Job.ID == "" && a.Job.ID != "" && a.Job.Cluster == o.Job.Cluster:
			return
		}
	}
	g.Owners = append(g.Owners, o)
}
