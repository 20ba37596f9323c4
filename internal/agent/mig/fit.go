package mig

import (
	"fmt"
	"strings"
)

// wish is an item of a layout with what the board has for it.
type wish struct {
	profile *Profile
	start   int // or Anywhere
}

func (w *wish) String() string {
	return Item{Profile: w.profile.Name, Start: w.start}.text(1)
}

// starts are the places that the wish may take.
func (w *wish) starts() []int {
	if w.start != Anywhere {
		return []int{w.start}
	}
	out := make([]int, 0, len(w.profile.Placements))
	for _, p := range w.profile.Placements {
		out = append(out, p.Start)
	}
	return out
}

// wishes finds the profile of each item, and refuses what the board could not have
// in any arrangement.
func (b *board) wishes(l Layout) ([]wish, error) {
	var out []wish
	for _, item := range l.Items {
		p, err := b.find(item.Profile)
		if err != nil {
			return nil, err
		}
		w := wish{p, item.Start}
		if err := w.allowed(); err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, b.countable(out)
}

// allowed refuses an explicit place that the profile cannot start at.
func (w *wish) allowed() error {
	if w.start == Anywhere {
		return nil
	}
	var starts []string
	for _, p := range w.profile.Placements {
		if p.Start == w.start {
			return nil
		}
		starts = append(starts, fmt.Sprint(p.Start))
	}
	return fmt.Errorf("%w: %s can start at memory slice %s, not at %d", ErrLayout, w.profile.Name, strings.Join(starts, ", "), w.start)
}

// countable refuses what its sums alone forbid.
func (b *board) countable(wishes []wish) error {
	compute, memory, media := 0, 0, 0
	counts := map[string]int{}
	for i := range wishes {
		p := wishes[i].profile
		compute += p.Compute
		memory += p.Memory
		if p.Media {
			media++
		}
		if counts[p.Name]++; counts[p.Name] > p.Max && !p.Media {
			return fmt.Errorf("%w: at most %d of %s on this board, %d or more are wanted", ErrLayout, p.Max, p.Name, counts[p.Name])
		}
	}
	switch {
	case media > 1:
		return fmt.Errorf("%w: at most one instance with media engines (+me) on a GPU, %d are wanted", ErrLayout, media)
	case compute > b.compute:
		return fmt.Errorf("%w: it needs %d compute slices, the board has %d", ErrLayout, compute, b.compute)
	case memory > b.memory:
		return fmt.Errorf("%w: it needs %d memory slices, the board has %d", ErrLayout, memory, b.memory)
	}
	return nil
}

// misfit says why no arrangement of the wishes exists.
func (b *board) misfit(wishes []wish) error {
	for i := range wishes {
		for j := range i {
			if x, y := &wishes[i], &wishes[j]; x.start != Anywhere && y.start != Anywhere && overlap(x.start, x.profile.Memory, y.start, y.profile.Memory) {
				return fmt.Errorf("%w: %s and %s overlap: they take memory slices %s and %s", ErrLayout, y, x, y.span(), x.span())
			}
		}
	}
	var parts []string
	seen := map[string]bool{}
	for i := range wishes {
		w := &wishes[i]
		if text := fmt.Sprintf("%s takes %d and may start at %s", w, w.profile.Memory, numbers(w.starts())); !seen[text] {
			seen[text] = true
			parts = append(parts, text)
		}
	}
	return fmt.Errorf("%w: there is no arrangement in %d memory slices: %s", ErrLayout, b.memory, strings.Join(parts, "; "))
}

func (w *wish) span() string {
	return fmt.Sprintf("%d-%d", w.start, w.start+w.profile.Memory-1)
}

func overlap(a, an, b, bn int) bool { return a < b+bn && b < a+an }

func numbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ", ")
}
