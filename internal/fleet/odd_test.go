package fleet

import (
	"strings"
	"testing"
	"time"
)

// Slurm's node names differ by case: no row may hide another.
func TestC06_NamesThatDifferByCase(t *testing.T) {
	s := newState(StoreOptions{})
	names := []string{"GN1", "gn1", "gn1.rack-a.example", "gn1.rack-b.example", "GN2.example", "gn3"}
	u := Update{Source: "a", At: time.Now(), Full: true}
	for _, n := range names {
		u.Views = append(u.Views, View{Cluster: "a", Node: n, Base: BaseIdle})
	}
	s.update(&u)
	snap := s.snapshot(time.Now())
	if len(snap.Nodes) != len(names) {
		t.Fatalf("%d nodes of %d", len(snap.Nodes), len(names))
	}
	for _, n := range names {
		if node := snap.Node(n); node == nil || node.Views[0].Node != n {
			t.Errorf("%s: got %+v", n, node)
		}
	}
	if snap.Node("gn2") == nil {
		t.Error("a short name that only one node has is its name")
	}
}

// What takes no work has no free GPUs, whatever it has allocated.
func TestC01_FreeMeansThatWorkCanStart(t *testing.T) {
	for state, want := range map[string]int{
		"IDLE": 6, "IDLE PLANNED": 6, "MIXED": 6, "IDLE NOT_RESPONDING": 0, "IDLE DRAIN": 0, "IDLE POWERED_DOWN": 0,
		"IDLE POWER_DOWN": 0, "DOWN": 0, "IDLE QUARANTINED": 0, "IDLE ?": 0, "UNKNOWN": 0, "MIXED REBOOT_REQUESTED": 0,
	} {
		words := strings.Fields(state)
		v := View{Cluster: "a", Node: "gn1", Base: words[0], Flags: words[1:], GPUs: GPUCount{Total: 8, Allocated: 2}}
		row := &NodeRow{Node: &Node{Name: "gn1", Views: []View{v}}}
		if got, _ := row.Field("free"); got.Num != float64(want) {
			t.Errorf("%s: %v GPUs are free, want %d", state, got.Num, want)
		}
	}
}
