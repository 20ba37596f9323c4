package mig

import (
	"slices"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// spot is where an instance is and what it is; at most one can be at a spot.
type spot struct {
	shape shape
	start int
}

func spotOf(i *fleet.MIGInstance) spot { return spot{shapeOf(i), i.Start} }

// cuts are the sizes of an instance's compute instances.
func cuts(i *fleet.MIGInstance) []int {
	var out []int
	for _, ci := range i.CIs {
		out = append(out, ci.Slices)
	}
	slices.Sort(out)
	return out
}

// sameState reports that two states are one layout. Ids and UUIDs do not count: they
// are new when an instance is made again.
func sameState(a, b fleet.MIGState) bool {
	if a.Current != b.Current || pending(a) != pending(b) || len(a.Instances) != len(b.Instances) {
		return false
	}
	for i := range a.Instances {
		j := indexAt(b.Instances, spotOf(&a.Instances[i]))
		if j < 0 || !slices.Equal(cuts(&a.Instances[i]), cuts(&b.Instances[j])) {
			return false
		}
	}
	return true
}

// sameIDs reports that the instances of two equal layouts are the very same.
func sameIDs(a, b fleet.MIGState) bool {
	for i := range a.Instances {
		j := indexAt(b.Instances, spotOf(&a.Instances[i]))
		if j < 0 || a.Instances[i].ID != b.Instances[j].ID {
			return false
		}
	}
	return true
}

func indexAt(list []fleet.MIGInstance, s spot) int {
	return slices.IndexFunc(list, func(i fleet.MIGInstance) bool { return spotOf(&i) == s })
}
