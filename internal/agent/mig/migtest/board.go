// Package migtest has MIG devices in memory for tests: boards as data, and a driver
// that answers as NVML does, with faults set by the test.
//
// It imports agent/mig and fleet.
package migtest

import "github.com/gpuctl/gpuctl/internal/agent/mig"

// Board is what a product can be cut into.
type Board struct {
	Name     string
	Compute  int // slices
	Memory   int // slices
	Profiles []mig.Profile
	// IDs are the first instance ids that the driver gives, by profile name, and how
	// many there are.
	IDs map[string][2]int
}

// A10080 is an A100 with 80 GB, as nvidia-smi mig -lgip and -lgipp print it.
func A10080() Board { return sevenSlices("A100-80", 10, 20, 40, 80) }

// H10080 is an H100 with 80 GB: the A100's slices, places and names.
func H10080() Board { return sevenSlices("H100-80", 10, 20, 40, 80) }

// A10040 has the A100's slices with half the memory.
func A10040() Board { return sevenSlices("A100-40", 5, 10, 20, 40) }

// A30 has four slices; its ids are other profiles than the same ids of an A100.
func A30() Board {
	return Board{
		Name: "A30", Compute: 4, Memory: 4,
		Profiles: []mig.Profile{
			profile(14, "1g.6gb", 1, 1, 4, 6, 0, 1, 2, 3),
			media(profile(21, "1g.6gb+me", 1, 1, 1, 6, 0, 1, 2, 3)),
			profile(5, "2g.12gb", 2, 2, 2, 12, 0, 2),
			media(profile(6, "2g.12gb+me", 2, 2, 1, 12, 0, 2)),
			profile(0, "4g.24gb", 4, 4, 1, 24, 0),
		},
		IDs: map[string][2]int{
			"4g.24gb": {0, 1}, "2g.12gb": {1, 2}, "2g.12gb+me": {1, 2}, "1g.6gb": {3, 4}, "1g.6gb+me": {3, 4},
		},
	}
}

// sevenSlices makes a board with 7 compute and 8 memory slices, by the gigabytes of
// its 1g, 2g, 3g and 7g profiles.
func sevenSlices(name string, one, two, three, seven int) Board {
	n := func(slices int, gb int, attr string) string { return profileName(slices, gb) + attr }
	b := Board{
		Name: name, Compute: 7, Memory: 8,
		Profiles: []mig.Profile{
			profile(19, n(1, one, ""), 1, 1, 7, one, 0, 1, 2, 3, 4, 5, 6),
			media(profile(20, n(1, one, "+me"), 1, 1, 1, one, 0, 1, 2, 3, 4, 5, 6)),
			profile(15, n(1, two, ""), 1, 2, 4, two, 0, 2, 4, 6),
			profile(14, n(2, two, ""), 2, 2, 3, two, 0, 2, 4),
			profile(9, n(3, three, ""), 3, 4, 2, three, 0, 4),
			profile(5, n(4, three, ""), 4, 4, 1, three, 0),
			profile(0, n(7, seven, ""), 7, 8, 1, seven, 0),
		},
	}
	b.IDs = map[string][2]int{
		n(7, seven, ""): {0, 1}, n(4, three, ""): {1, 2}, n(3, three, ""): {1, 2}, n(2, two, ""): {3, 4},
		n(1, two, ""): {3, 4}, n(1, one, ""): {7, 7}, n(1, one, "+me"): {7, 7},
	}
	return b
}

func media(p mig.Profile) mig.Profile {
	p.Media = true
	return p
}

func profile(id int, name string, compute, memory, most, gb int, starts ...int) mig.Profile {
	p := mig.Profile{ID: id, Name: name, Compute: compute, Memory: memory, Max: most, Bytes: uint64(gb) << 30}
	for _, s := range starts {
		p.Placements = append(p.Placements, mig.Placement{Start: s, Size: memory})
	}
	return p
}
