// Package miglayout is a MIG layout while a person changes it: what is on the board,
// what else fits where, and why the rest does not. It knows geometry only; whether a
// change may be made, the plan says.
//
// It imports fleet only.
package miglayout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Item is one wanted instance.
type Item struct {
	Profile fleet.MIGProfile
	Start   int // Anywhere when the driver does not tell places
}

// Anywhere is the start of an item whose place the plan chooses.
const Anywhere = -1

// end is the slice after the item.
func (i Item) end() int { return i.Start + i.Profile.Memory }

// Layout is what a device shall be.
type Layout struct {
	Off     bool // MIG disabled
	Items   []Item
	board   fleet.MIGBoard
	memory  int // slices of the board; 0: not told
	compute int
}

// Of is the layout that a device has now.
func Of(board fleet.MIGBoard, m fleet.MIGState) *Layout {
	l := &Layout{Off: m.Current != fleet.MIGEnabled, board: board, memory: m.Slices}
	for _, p := range board.Profiles {
		l.compute = max(l.compute, p.Compute)
		for _, start := range p.Starts {
			l.memory = max(l.memory, start+p.Memory)
		}
	}
	for _, in := range fleet.ByPlace(m.Instances) {
		l.Items = append(l.Items, Item{l.profile(&in), in.Start})
	}
	return l
}

// profile is the board's profile of an instance, by what it takes: names differ between
// drivers.
func (l *Layout) profile(in *fleet.MIGInstance) fleet.MIGProfile {
	for _, p := range l.board.Profiles {
		if p.Compute == in.Compute && p.Memory == in.Size && p.Media == strings.Contains(in.Profile, "+me") {
			return p
		}
	}
	return fleet.MIGProfile{Name: in.Profile, Compute: in.Compute, Memory: in.Size, Max: 1}
}

// Profiles are what the board can be cut into.
func (l *Layout) Profiles() []fleet.MIGProfile { return l.board.Profiles }

// Memory is how many memory slices the board has; 0: not told.
func (l *Layout) Memory() int { return l.memory }

// used are the slices that the items take.
func (l *Layout) used() (compute, memory int) {
	for _, i := range l.Items {
		compute, memory = compute+i.Profile.Compute, memory+i.Profile.Memory
	}
	return compute, memory
}

// Refuses says why no further instance of the profile fits; empty when one does.
func (l *Layout) Refuses(p fleet.MIGProfile) string {
	same, media := 0, 0
	for _, i := range l.Items {
		if i.Profile.Name == p.Name {
			same++
		}
		if i.Profile.Media {
			media++
		}
	}
	compute, memory := l.used()
	switch {
	case p.Max > 0 && same >= p.Max:
		return fmt.Sprintf("at most %d of it", p.Max)
	case p.Media && media > 0:
		return "at most one with media engines (+me)"
	case compute+p.Compute > l.compute:
		return fmt.Sprintf("needs %s, %d of %d left", slicesOf(p.Compute, "compute"), l.compute-compute, l.compute)
	case l.memory > 0 && memory+p.Memory > l.memory:
		return fmt.Sprintf("needs %s, %d of %d left", slicesOf(p.Memory, "memory"), l.memory-memory, l.memory)
	case len(p.Starts) > 0 && l.room(p, -1) == Anywhere:
		return "no room at slice " + numbers(p.Starts)
	}
	return ""
}

func slicesOf(n int, kind string) string {
	if n == 1 {
		return "1 " + kind + " slice"
	}
	return fmt.Sprintf("%d %s slices", n, kind)
}

func numbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ", ")
}

// room is the last place where an instance of the profile fits, which leaves the large
// profiles their places at the front; Anywhere when there is none. The item at except
// counts as gone.
func (l *Layout) room(p fleet.MIGProfile, except int) int {
	for _, start := range slices.Backward(slices.Sorted(slices.Values(p.Starts))) {
		if l.free(start, p.Memory, except) {
			return start
		}
	}
	return Anywhere
}

func (l *Layout) free(start, size, except int) bool {
	for i, it := range l.Items {
		if i != except && it.Start != Anywhere && start < it.end() && it.Start < start+size {
			return false
		}
	}
	return start+size <= l.memory
}

// Add puts an instance of the profile on the board and returns its index; false when
// it does not fit.
func (l *Layout) Add(p fleet.MIGProfile) (int, bool) {
	if l.Refuses(p) != "" {
		return 0, false
	}
	l.Off = false
	return l.put(Item{p, l.room(p, -1)}), true
}

func (l *Layout) put(it Item) int {
	l.Items = append(l.Items, it)
	slices.SortStableFunc(l.Items, func(a, b Item) int { return cmp.Compare(a.Start, b.Start) })
	return slices.IndexFunc(l.Items, func(x Item) bool { return x.Start == it.Start && x.Profile.Name == it.Profile.Name })
}

// Remove takes an instance off the board.
func (l *Layout) Remove(i int) {
	if i >= 0 && i < len(l.Items) {
		l.Items = slices.Delete(l.Items, i, i+1)
	}
}

// Clear takes every instance off; off disables MIG as well.
func (l *Layout) Clear(off bool) { l.Items, l.Off = nil, off }

// Move puts an instance to the next place in a direction where it fits, and returns its
// index.
func (l *Layout) Move(i, step int) int {
	if i < 0 || i >= len(l.Items) || l.Items[i].Start == Anywhere {
		return i
	}
	it := l.Items[i]
	starts := slices.Sorted(slices.Values(it.Profile.Starts))
	for at := slices.Index(starts, it.Start) + step; at >= 0 && at < len(starts); at += step {
		if l.free(starts[at], it.Profile.Memory, i) {
			l.Remove(i)
			it.Start = starts[at]
			return l.put(it)
		}
	}
	return i
}

// String is the layout as gpuctl reads it: "3g.40gb@0,1g.10gb@6", "off", "on".
func (l *Layout) String() string {
	if l.Off {
		return "off"
	}
	if len(l.Items) == 0 {
		return "on"
	}
	parts := make([]string, len(l.Items))
	for i, it := range l.Items {
		parts[i] = it.Profile.Name
		if it.Start != Anywhere {
			parts[i] += fmt.Sprintf("@%d", it.Start)
		}
	}
	return strings.Join(parts, ",")
}
