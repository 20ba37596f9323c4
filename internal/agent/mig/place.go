package mig

import (
	"slices"
)

// place is where one wish goes.
type place struct {
	profile *Profile
	start   int
	keep    int // index of the instance that is there already; -1: it is made
}

// standing is an instance that may stay where it is.
type standing struct {
	shape shape
	start int
	index int // in the state
	busy  bool
}

// search tries every arrangement of the wishes. Of all that fit it keeps the one
// that spares most instances in use, then most instances, then the first in order of
// place; so the same question always has the same answer.
type search struct {
	wishes   []wish
	standing []standing
	taken    []bool // memory slices
	now      []place
	best     []place
	busy     int // spared by best
	spared   int
}

// arrange returns the best arrangement; nil when there is none.
func (b *board) arrange(wishes []wish, stands []standing) []place {
	s := &search{wishes: slices.Clone(wishes), standing: stands, taken: make([]bool, b.memory)}
	slices.SortStableFunc(s.wishes, func(x, y wish) int {
		if d := y.profile.Memory - x.profile.Memory; d != 0 {
			return d
		}
		if d := y.profile.Compute - x.profile.Compute; d != 0 {
			return d
		}
		return x.start - y.start
	})
	s.now = make([]place, 0, len(wishes))
	s.try(0)
	return s.best
}

// try places the wishes from i on, in every way.
func (s *search) try(i int) {
	if i == len(s.wishes) {
		s.weigh()
		return
	}
	w := &s.wishes[i]
	for _, start := range w.starts() {
		if s.repeats(i, start) || !s.take(start, w.profile.Memory) {
			continue
		}
		s.now = append(s.now, place{w.profile, start, s.at(w.profile.shape(), start)})
		s.try(i + 1)
		s.now = s.now[:i]
		s.release(start, w.profile.Memory)
	}
}

// repeats skips arrangements that differ only in the names of equal instances.
func (s *search) repeats(i, start int) bool {
	return i > 0 && s.wishes[i].profile == s.wishes[i-1].profile &&
		s.wishes[i].start == Anywhere && s.wishes[i-1].start == Anywhere && start < s.now[i-1].start
}

func (s *search) take(start, size int) bool {
	if start < 0 || start+size > len(s.taken) || slices.Contains(s.taken[start:start+size], true) {
		return false
	}
	for i := start; i < start+size; i++ {
		s.taken[i] = true
	}
	return true
}

func (s *search) release(start, size int) {
	for i := start; i < start+size; i++ {
		s.taken[i] = false
	}
}

// at is the index of the standing instance of that shape there; -1: none.
func (s *search) at(want shape, start int) int {
	for _, st := range s.standing {
		if st.shape == want && st.start == start {
			return st.index
		}
	}
	return -1
}

// weigh keeps the arrangement if it is better than the best so far.
func (s *search) weigh() {
	busy, spared := 0, 0
	for _, p := range s.now {
		if p.keep < 0 {
			continue
		}
		spared++
		if slices.ContainsFunc(s.standing, func(st standing) bool { return st.index == p.keep && st.busy }) {
			busy++
		}
	}
	if s.best != nil && (busy < s.busy || busy == s.busy && spared <= s.spared) {
		return
	}
	s.best, s.busy, s.spared = append([]place{}, s.now...), busy, spared
}
