package main

import (
	"testing"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

func TestFactsThatWillNotComeAreNotAwaited(t *testing.T) {
	some := []fleet.Partition{{Name: "gpu"}}
	for name, c := range map[string]struct {
		cluster fleet.Cluster
		has     bool
	}{
		"nothing yet":   {fleet.Cluster{Accounting: true}, false},
		"no limits yet": {fleet.Cluster{Accounting: true, Partitions: some}, false},
		"all":           {fleet.Cluster{Accounting: true, Partitions: some, QOS: []fleet.QOS{{Name: "normal"}}}, true},
		"refused":       {fleet.Cluster{Accounting: true, Partitions: some, Notes: []string{"QOS: permission denied"}}, true},
		"no accounting": {fleet.Cluster{Partitions: some}, true},
	} {
		c.cluster.Name, c.cluster.Kind = "lab", fleet.Slurm
		snap := fleet.NewSnapshot(fleet.Snapshot{
			Clusters: []fleet.Cluster{c.cluster},
			Sources:  []fleet.SourceState{{Name: "lab", Cluster: "lab", Status: fleet.SourceLive}},
		})
		if got := hasFacts(snap); got != c.has {
			t.Errorf("%s: %v", name, got)
		}
	}
}
