package miglayout

import (
	"strings"
	"testing"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// board is an 80 GB board of seven slices.
func board() fleet.MIGBoard {
	return fleet.MIGBoard{Model: "H100", Profiles: []fleet.MIGProfile{
		{Name: "1g.10gb", Compute: 1, Memory: 1, Max: 7, Starts: []int{0, 1, 2, 3, 4, 5, 6}},
		{Name: "1g.10gb+me", Compute: 1, Memory: 1, Max: 1, Starts: []int{0, 1, 2, 3, 4, 5, 6}, Media: true},
		{Name: "1g.20gb", Compute: 1, Memory: 2, Max: 4, Starts: []int{0, 2, 4, 6}},
		{Name: "2g.20gb", Compute: 2, Memory: 2, Max: 3, Starts: []int{0, 2, 4}},
		{Name: "3g.40gb", Compute: 3, Memory: 4, Max: 2, Starts: []int{0, 4}},
		{Name: "4g.40gb", Compute: 4, Memory: 4, Max: 1, Starts: []int{0}},
		{Name: "7g.80gb", Compute: 7, Memory: 8, Max: 1, Starts: []int{0}},
	}}
}

// build adds profiles by name and returns why the first that does not fit does not.
func build(t *testing.T, l *Layout, names ...string) string {
	t.Helper()
	for _, name := range names {
		i := -1
		for k, p := range l.Profiles() {
			if p.Name == name {
				i = k
			}
		}
		if i < 0 {
			t.Fatalf("no profile %s", name)
		}
		p := l.Profiles()[i]
		why := l.Refuses(p)
		if _, ok := l.Add(p); ok != (why == "") {
			t.Fatalf("%s: added %v although %q", name, ok, why)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

func TestAddAndRefuse(t *testing.T) {
	for names, want := range map[string]string{
		"1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb": "1g.10gb@0,1g.10gb@1,1g.10gb@2,1g.10gb@3,1g.10gb@4,1g.10gb@5,1g.10gb@6",
		"1g.10gb 2g.20gb 4g.40gb":                                 "4g.40gb@0,2g.20gb@4,1g.10gb@6",
		"3g.40gb 4g.40gb":                                         "4g.40gb@0,3g.40gb@4",
		"3g.40gb 3g.40gb":                                         "3g.40gb@0,3g.40gb@4",
		"3g.40gb 3g.40gb 1g.10gb":                                 "!needs 1 memory slice, 0 of 8 left",
		"7g.80gb 1g.10gb":                                         "!needs 1 compute slice, 0 of 7 left",
		"1g.10gb+me 1g.10gb+me":                                   "!at most 1 of it",
		"4g.40gb 4g.40gb":                                         "!at most 1 of it",
		"2g.20gb 2g.20gb 2g.20gb 2g.20gb":                         "!at most 3 of it",
		"2g.20gb 2g.20gb 2g.20gb 1g.10gb":                         "2g.20gb@0,2g.20gb@2,2g.20gb@4,1g.10gb@6",
	} {
		l := Of(board(), fleet.MIGState{Current: fleet.MIGEnabled, Slices: 8})
		why := build(t, l, strings.Fields(names)...)
		if refused, ok := strings.CutPrefix(want, "!"); ok && why != refused || !ok && l.String() != want {
			t.Errorf("%s: %s, %q", names, l, why)
		}
	}
}

func TestNoPlaceIsFree(t *testing.T) {
	l := Of(board(), fleet.MIGState{Current: fleet.MIGEnabled, Slices: 8, Instances: []fleet.MIGInstance{
		{Profile: "1g.10gb", Start: 0, Size: 1, Compute: 1}, {Profile: "1g.10gb", Start: 4, Size: 1, Compute: 1},
	}})
	if why := build(t, l, "3g.40gb"); why != "no room at slice 0, 4" {
		t.Error(why)
	}
}

func TestChange(t *testing.T) {
	l := Of(board(), fleet.MIGState{Current: fleet.MIGEnabled, Slices: 8, Instances: []fleet.MIGInstance{
		{Profile: "1g.10gb", Start: 4, Size: 1, Compute: 1}, {Profile: "3g.40gb", Start: 0, Size: 4, Compute: 3},
	}})
	if l.String() != "3g.40gb@0,1g.10gb@4" || l.Memory() != 8 || l.compute != 7 {
		t.Fatalf("%s of %d, %d", l, l.Memory(), l.compute)
	}
	if i := l.Move(1, 1); i != 1 || l.String() != "3g.40gb@0,1g.10gb@5" {
		t.Errorf("%d %s", i, l)
	}
	if i := l.Move(0, 1); i != 0 || l.String() != "3g.40gb@0,1g.10gb@5" {
		t.Errorf("moved onto another: %d %s", i, l)
	}
	l.Remove(1)
	if i := l.Move(0, 1); i != 0 || l.String() != "3g.40gb@4" {
		t.Errorf("%d %s", i, l)
	}
	l.Remove(7)
	l.Clear(false)
	if l.String() != "on" {
		t.Error(l)
	}
	l.Clear(true)
	if l.String() != "off" {
		t.Error(l)
	}
	if build(t, l, "7g.80gb") != "" || l.String() != "7g.80gb@0" {
		t.Errorf("adding switches MIG on: %s", l)
	}
}

// While MIG is off a driver may tell no places: the sums still hold.
func TestWithoutPlaces(t *testing.T) {
	b := board()
	for i := range b.Profiles {
		b.Profiles[i].Starts = nil
	}
	l := Of(b, fleet.MIGState{Current: fleet.MIGDisabled})
	if l.String() != "off" || build(t, l, "3g.40gb", "3g.40gb") != "" || l.String() != "3g.40gb,3g.40gb" || l.Move(0, 1) != 0 {
		t.Error(l)
	}
	if why := build(t, l, "2g.20gb"); why != "needs 2 compute slices, 1 of 7 left" {
		t.Error(why)
	}
}

// An instance of a profile that the board does not list stays what it is.
func TestUnknownInstance(t *testing.T) {
	l := Of(board(), fleet.MIGState{Current: fleet.MIGEnabled, Slices: 8, Instances: []fleet.MIGInstance{{Profile: "6g.60gb", Start: 0, Size: 6, Compute: 6}}})
	if l.String() != "6g.60gb@0" {
		t.Error(l)
	}
}
