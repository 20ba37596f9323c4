package page

import (
	"testing"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/fixture"
)

func TestC14_CountsOfOneSnapshotAddUp(t *testing.T) {
	all := Tallies(fixture.Fleet())
	if len(all) != 2 || all[0].Model != "h100" || all[0].Total != 512 || all[1].Total != 64 {
		t.Fatalf("tallies = %+v", all)
	}
	for _, a := range all {
		if a.Busy+a.Free+a.Draining+a.Faulty+a.Other != a.Total {
			t.Errorf("%+v does not add up", a)
		}
	}
}

// Allocations above the configured total (a node whose GPUs were taken away) and
// two schedulers that both gave the same GPU away stay within the whole.
func TestC14_NeverMoreBusyThanThere(t *testing.T) {
	over := fleet.View{Base: "ALLOCATED", GPUs: fleet.GPUCount{Total: 8, Allocated: 20, Model: "h100"}}
	both := fleet.View{Base: "READY", GPUs: fleet.GPUCount{Total: 8, Allocated: 6, Model: "h100"}}
	s := fleet.NewSnapshot(fleet.Snapshot{Nodes: []*fleet.Node{{Name: "a", Views: []fleet.View{over, both}}}})
	if a := Tallies(s)[0]; a.Total != 8 || a.Busy != 8 || a.Free != 0 || a.Other != 0 {
		t.Errorf("tally = %+v", a)
	}
}

func TestWaitingCountsArrayTasks(t *testing.T) {
	d := Waiting(fixture.Fleet())
	if want := (Demand{Records: 6, Jobs: 11, GPUs: 64 + 512 + 6*8 + 1 + 16 + 32}); d != want {
		t.Errorf("Waiting = %+v, want %+v", d, want)
	}
}
