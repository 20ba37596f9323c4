package actionstest

import (
	"fmt"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Snapshot is a fleet of live Slurm clusters, each with that many idle nodes. The
// nodes of "a" are a1, a2, ...
func Snapshot(nodes map[string]int) *fleet.Snapshot {
	s := fleet.Snapshot{Seq: 7, At: time.Now()}
	for cluster, count := range nodes {
		s.Clusters = append(s.Clusters, fleet.Cluster{Name: cluster, Kind: fleet.Slurm})
		s.Sources = append(s.Sources, fleet.SourceState{
			Name: cluster, Kind: "slurm", Cluster: cluster, Status: fleet.SourceLive, LastSuccess: time.Now(),
		})
		for i := range count {
			name := fmt.Sprintf("%s%d", cluster, i+1)
			s.Nodes = append(s.Nodes, &fleet.Node{Name: name, Views: []fleet.View{
				{Cluster: cluster, Kind: fleet.Slurm, Node: name, Base: fleet.BaseIdle},
			}})
		}
	}
	return fleet.NewSnapshot(s)
}

// Nodes are targets on one cluster.
func Nodes(cluster string, names ...string) []actions.Target {
	targets := make([]actions.Target, len(names))
	for i, n := range names {
		targets[i] = actions.Target{Kind: fleet.KindNode, Cluster: cluster, Name: n}
	}
	return targets
}
