package mig_test

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/mig/migtest"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

func boards() []migtest.Board {
	return []migtest.Board{migtest.A10080(), migtest.H10080(), migtest.A30()}
}

// spot is one placed instance.
type spot struct {
	profile mig.Profile
	start   int
}

func text(layout []spot) string {
	if len(layout) == 0 {
		return "on"
	}
	var parts []string
	for _, s := range layout {
		parts = append(parts, fmt.Sprintf("%s@%d", s.profile.Name, s.start))
	}
	return strings.Join(parts, ",")
}

// multiset is the layout without places, as a person would write it.
func multiset(layout []spot) string {
	var names []string
	for _, s := range layout {
		names = append(names, s.profile.Name)
	}
	sort.Strings(names)
	return strings.Join(names, ",")
}

// fits is the rule of the documentation, written a second time: no overlap, slices,
// counts, one with media engines.
func fits(b migtest.Board, layout []spot) bool {
	var taken [16]bool
	compute, media := 0, 0
	counts := map[string]int{}
	for _, s := range layout {
		compute += s.profile.Compute
		if s.profile.Media {
			media++
		}
		if counts[s.profile.Name]++; counts[s.profile.Name] > s.profile.Max {
			return false
		}
		for i := s.start; i < s.start+s.profile.Memory; i++ {
			if taken[i] {
				return false
			}
			taken[i] = true
		}
	}
	return compute <= b.Compute && media <= 1
}

// every lists all valid layouts of the board, the empty one included.
func every(b migtest.Board, use func(mig.Profile) bool) [][]spot {
	var all []spot
	for _, p := range b.Profiles {
		for _, pl := range p.Placements {
			if use(p) {
				all = append(all, spot{p, pl.Start})
			}
		}
	}
	var out [][]spot
	var grow func(from int, now []spot)
	grow = func(from int, now []spot) {
		out = append(out, slices.Clone(now))
		for i := from; i < len(all); i++ {
			if next := append(slices.Clone(now), all[i]); fits(b, next) {
				grow(i+1, next)
			}
		}
	}
	grow(0, nil)
	return out
}

// maximal keeps the layouts that nothing can be added to.
func maximal(b migtest.Board, layouts [][]spot, use func(mig.Profile) bool) [][]spot {
	var out [][]spot
	for _, l := range layouts {
		more := false
		for _, p := range b.Profiles {
			for _, pl := range p.Placements {
				more = more || use(p) && fits(b, append(slices.Clone(l), spot{p, pl.Start}))
			}
		}
		if !more {
			out = append(out, l)
		}
	}
	return out
}

// plain are the profiles of NVIDIA's diagrams.
func plain(p mig.Profile) bool { return !p.Media && (p.Compute != 1 || p.Memory == 1) }

func anyProfile(mig.Profile) bool { return true }

func TestNineteenMaximalLayouts(t *testing.T) {
	for _, b := range boards() {
		got := maximal(b, every(b, plain), plain)
		want := 19
		if b.Name == "A30" {
			want = 5
		}
		if len(got) != want {
			t.Errorf("%s has %d maximal layouts, want %d", b.Name, len(got), want)
		}
		for _, l := range got {
			state := fleet.MIGState{Current: fleet.MIGEnabled, Pending: fleet.MIGEnabled, Slices: b.Memory}
			if _, err := planFor(b, state, text(l)); err != nil {
				t.Errorf("%s: %s: %v", b.Name, text(l), err)
			}
		}
	}
}

func planFor(b migtest.Board, state fleet.MIGState, layout string) (wire.MIGPlan, error) {
	l, err := mig.ParseLayout(layout)
	if err != nil {
		return wire.MIGPlan{}, err
	}
	return mig.Plan(state, b.Profiles, l, nil)
}

// stateOf is a device that has the layout.
func stateOf(t testing.TB, b migtest.Board, layout string) fleet.MIGState {
	t.Helper()
	d := migtest.New(b, fleet.MIGEnabled)
	if err := d.Set(layout); err != nil {
		t.Fatalf("%s: %s: %v", b.Name, layout, err)
	}
	return d.Now()
}

// TestPlanKeepsMost compares, for all pairs of maximal layouts with every profile, the
// number of instances kept with the most that any arrangement of the same wish keeps.
func TestPlanKeepsMost(t *testing.T) {
	for _, b := range []migtest.Board{migtest.A10080(), migtest.A30()} {
		all := every(b, anyProfile)
		byWish := map[string][][]spot{}
		for _, l := range all {
			byWish[multiset(l)] = append(byWish[multiset(l)], l)
		}
		tops := maximal(b, all, anyProfile)
		for _, from := range tops {
			state := stateOf(t, b, text(from))
			for wish, arrangements := range byWish {
				if wish == "" || !slices.ContainsFunc(tops, func(l []spot) bool { return multiset(l) == wish }) {
					continue
				}
				p, err := planFor(b, state, wish)
				if err != nil {
					t.Fatalf("%s: %s from %s: %v", b.Name, wish, text(from), err)
				}
				if most := mostKept(from, arrangements); len(p.Keep) != most || len(p.Destroy) != len(from)-most {
					t.Fatalf("%s: from %s to %s keeps %d and destroys %d, could keep %d of %d", b.Name, text(from), wish, len(p.Keep), len(p.Destroy), most, len(from))
				}
			}
		}
	}
}

func mostKept(from []spot, arrangements [][]spot) int {
	most := 0
	for _, l := range arrangements {
		kept := 0
		for _, s := range l {
			if slices.ContainsFunc(from, func(f spot) bool { return f.profile.ID == s.profile.ID && f.start == s.start }) {
				kept++
			}
		}
		most = max(most, kept)
	}
	return most
}

// TestInvalidLayoutsAreRefused: every wish of up to the board's slices is planned if
// and only if some arrangement of it is valid.
func TestInvalidLayoutsAreRefused(t *testing.T) {
	for _, b := range []migtest.Board{migtest.A10080(), migtest.A30()} {
		valid := map[string]bool{}
		for _, l := range every(b, anyProfile) {
			valid[multiset(l)] = true
		}
		state := stateOf(t, b, "on")
		var grow func(from int, now []string)
		grow = func(from int, now []string) {
			if len(now) > 0 {
				sorted := slices.Sorted(slices.Values(now))
				wish := strings.Join(sorted, ",")
				_, err := planFor(b, state, wish)
				if (err == nil) != valid[wish] || err != nil && !errors.Is(err, mig.ErrLayout) {
					t.Fatalf("%s: %s: %v, valid is %v", b.Name, wish, err, valid[wish])
				}
			}
			for i := from; i < len(b.Profiles) && len(now) < 5; i++ {
				grow(i, append(slices.Clone(now), b.Profiles[i].Name))
			}
		}
		grow(0, nil)
	}
}

func TestRefusalsSayWhyInNumbers(t *testing.T) {
	for _, c := range []struct {
		board        migtest.Board
		layout, want string
	}{
		{migtest.A10080(), "3g.40gb:3", "at most 2 of 3g.40gb"},
		{migtest.A10080(), "4g.40gb,2g.20gb:2", "needs 8 compute slices, the board has 7"},
		{migtest.A10080(), "3g.40gb:2,1g.10gb", "needs 9 memory slices, the board has 8"},
		{migtest.A10080(), "1g.10gb+me:2", "at most one instance with media engines"},
		{migtest.A30(), "1g.6gb+me,2g.12gb+me", "at most one instance with media engines (+me) on a GPU, 2 are wanted"},
		{migtest.A10080(), "3g.40gb@2", "can start at memory slice 0, 4, not at 2"},
		{migtest.A10080(), "3g.40gb@0,2g.20gb@2", "overlap: they take memory slices 0-3 and 2-3"},
		{migtest.A10080(), "3g.40gb,1g.10gb@0,1g.10gb@4", "no arrangement in 8 memory slices: 3g.40gb takes 4 and may start at 0, 4"},
		// The name is another board's: slices tell what is meant.
		{migtest.A10080(), "3g.20gb", "no 3g.20gb; what it has with as many compute slices is 3g.40gb (3 of 7 compute slices, 4 of 8 memory slices)"},
		{migtest.A10080(), "1g.5gb", "1g.10gb (1 of 7 compute slices, 1 of 8 memory slices) and 1g.20gb (1 of 7 compute slices, 2 of 8 memory slices)"},
		{migtest.A30(), "3g.40gb", "this board has no 3g.40gb; it has 1g.6gb"},
		// On an A100-40 this name is the profile with double memory: 4, not 7.
		{migtest.A10040(), "1g.10gb:7", "at most 4 of 1g.10gb"},
	} {
		_, err := planFor(c.board, stateOf(t, c.board, "on"), c.layout)
		if !errors.Is(err, mig.ErrLayout) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v\nwant %q in it", c.board.Name, c.layout, err, c.want)
		}
	}
}

func TestPlanSparesWhatIsInUse(t *testing.T) {
	b := migtest.A10080()
	state := stateOf(t, b, "2g.20gb@0,2g.20gb@2,1g.10gb@4,1g.10gb@5")
	busy := state.Instances[1].ID
	l, _ := mig.ParseLayout("3g.40gb,2g.20gb,1g.10gb")
	p, err := mig.Plan(state, b.Profiles, l, []fleet.GPUProcess{{PID: 9, Instance: busy}})
	if err != nil || len(p.Blockers) > 0 || !slices.ContainsFunc(p.Keep, func(i fleet.MIGInstance) bool { return i.ID == busy }) {
		t.Errorf("%v %v, keeps %v", err, p.Blockers, p.Keep)
	}
}

func TestPlanNamesWhoIsInTheWay(t *testing.T) {
	b := migtest.A10080()
	state := stateOf(t, b, "3g.40gb@0,3g.40gb@4")
	l, _ := mig.ParseLayout("7g.80gb")
	p, err := mig.Plan(state, b.Profiles, l, []fleet.GPUProcess{
		{PID: 4711, Name: "python", Instance: state.Instances[0].ID, Owner: fleet.Owner{Job: fleet.JobKey{ID: "12"}, User: "alice"}},
		{PID: 800, Name: "nv-hostengine", Instance: -1},
	})
	want := []string{"pid 4711 (python) of job 12, user alice, holds 3g.40gb@0 (instance 1): it must end first"}
	if err != nil || !cmp.Equal(p.Blockers, want) {
		t.Errorf("%v %q", err, p.Blockers)
	}
	if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "pid 800 (nv-hostengine)") }) {
		t.Errorf("warnings %q", p.Warnings)
	}
	l, _ = mig.ParseLayout("off")
	if p, err = mig.Plan(state, b.Profiles, l, p.Holders); err != nil || p.Mode != fleet.MIGDisabled || len(p.Destroy) != 2 || len(p.Blockers) != 1 {
		t.Errorf("%v %+v", err, p)
	}
}

// An instance that is cut into smaller compute instances is not what a layout names.
func TestPlanDoesNotKeepACutInstance(t *testing.T) {
	b := migtest.A10080()
	d := migtest.New(b, fleet.MIGEnabled)
	if err := errors.Join(d.Set("3g.40gb@0,2g.20gb@4"), d.Cut(1, 1, 2)); err != nil {
		t.Fatal(err)
	}
	p, err := planFor(b, d.Now(), "3g.40gb@0,2g.20gb@4")
	if err != nil || len(p.Keep) != 1 || len(p.Destroy) != 1 || p.Destroy[0].ID != 1 {
		t.Errorf("%v %+v", err, p)
	}
}

func TestC92_PendingModeIsNoLayout(t *testing.T) {
	state := fleet.MIGState{Current: fleet.MIGDisabled, Pending: fleet.MIGEnabled, Slices: 8}
	p, err := planFor(migtest.A10080(), state, "3g.40gb")
	if err != nil || len(p.Blockers) != 1 || !strings.Contains(p.Blockers[0], "disabled now, enabled after a reset or reboot") {
		t.Errorf("%v %q", err, p.Blockers)
	}
	if _, err := planFor(migtest.A10080(), fleet.MIGState{Current: fleet.MIGUnsupported}, "on"); !errors.Is(err, mig.ErrLayout) {
		t.Error(err)
	}
}
