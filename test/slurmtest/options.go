package slurmtest

import "fmt"

const (
	// maxNodes is how many slurmd one block of ports holds.
	maxNodes = 100
	// bigNodes is from how many nodes on a cluster runs alone on the machine.
	bigNodes = 32
	// gpusPerNode is what slurm.conf.tmpl gives a node.
	gpusPerNode = 8
)

// Options says what cluster to bring up. The zero value is 8 nodes. What a node has,
// and the partitions low and high, are in slurm.conf.tmpl.
type Options struct {
	Dir   string // all state; empty: a new folder below /tmp
	Nodes int    // nodes with a slurmd each, at most 100; default 8
	// Detached lets the cluster outlive this process: see Open.
	Detached bool
}

func (o Options) withDefaults() (Options, error) {
	if o.Nodes == 0 {
		o.Nodes = 8
	}
	if o.Nodes < 1 || o.Nodes > maxNodes {
		return o, fmt.Errorf("%d nodes: from 1 to %d can be brought up", o.Nodes, maxNodes)
	}
	return o, nil
}

// nodeNames returns the names of the nodes, in order.
func (o Options) nodeNames() []string {
	names := make([]string, o.Nodes)
	for i := range names {
		names[i] = fmt.Sprintf("gpu-node%03d", i+1)
	}
	return names
}

// nodeList returns the nodes as a host list.
func (o Options) nodeList() string {
	return fmt.Sprintf("gpu-node[001-%03d]", o.Nodes)
}
