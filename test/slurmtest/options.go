package slurmtest

import (
	"fmt"
	"strings"
)

// maxNodes is how many slurmd one block of ports holds.
const maxNodes = 100

// bigNodes is from how many nodes on a cluster runs alone on the machine.
const bigNodes = 32

// Options says what cluster to bring up. The zero value is 8 nodes of 8 GPUs.
type Options struct {
	Dir      string // all state; empty: a new folder below /tmp
	Name     string // ClusterName; default "gpulab"
	Nodes    int    // nodes with a slurmd each, at most 100; default 8
	GPUs     int    // per node; default 8
	GPUType  string // default "h100"
	CPUs     int    // per node, even; default 96
	MiB      int    // memory per node; default 1,000,000
	PortBase int    // first of a block of ports; 0: pick a free block

	// Partitions default to low (PriorityTier 10, victims are requeued after 10 s)
	// and high (PriorityTier 100).
	Partitions []Partition
	// BackfillInterval is in seconds; default 5. A requeued job waits for 121 s
	// and the next cycle.
	BackfillInterval int
	// SlurmdTimeout is in seconds; default 60: when a node that fell silent is down.
	SlurmdTimeout int
	// ExtraConf holds further lines for slurm.conf.
	ExtraConf string
	// Detached lets the cluster outlive this process: see Open.
	Detached bool
}

// Partition is one partition of all nodes. Options are as in slurm.conf(5).
type Partition struct {
	Name    string
	Options string
}

// DefaultPartitions returns low, whose jobs are preempted with ten seconds' grace,
// and high, whose jobs preempt them.
func DefaultPartitions() []Partition {
	return []Partition{
		{"low", "Default=YES PriorityTier=10 PriorityJobFactor=10 PreemptMode=REQUEUE GraceTime=10"},
		{"high", "Default=NO PriorityTier=100 PriorityJobFactor=100 PreemptMode=OFF"},
	}
}

func (o Options) withDefaults() (Options, error) {
	text := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	number := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	text(&o.Name, "gpulab")
	text(&o.GPUType, "h100")
	number(&o.Nodes, 8)
	number(&o.GPUs, 8)
	number(&o.CPUs, 96)
	number(&o.MiB, 1_000_000)
	number(&o.BackfillInterval, 5)
	number(&o.SlurmdTimeout, 60)
	if o.Partitions == nil {
		o.Partitions = DefaultPartitions()
	}
	if o.Nodes < 1 || o.Nodes > maxNodes {
		return o, fmt.Errorf("%d nodes: from 1 to %d can be brought up", o.Nodes, maxNodes)
	}
	if o.CPUs%2 != 0 {
		return o, fmt.Errorf("%d CPUs per node: two sockets need an even number", o.CPUs)
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

// partitionLines returns the partitions as lines of slurm.conf.
func (o Options) partitionLines() string {
	var b strings.Builder
	for _, p := range o.Partitions {
		fmt.Fprintf(&b, "PartitionName=%s Nodes=ALL MaxTime=7-0 DefaultTime=1:00:00 OverSubscribe=NO State=UP %s\n", p.Name, p.Options)
	}
	return b.String()
}
