// Package migbar draws how a GPU is partitioned, to scale: one line on which every
// memory slice of the board takes the same room.
//
//	│3g.40gb          │2g.20gb │1g.1│░░░░│
//
// It imports fleet and the console's theme and line.
package migbar

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// Part is one instance on the bar.
type Part struct {
	Start, Size int // in memory slices
	Label       string
	Tone        theme.Name
}

// Parts are the instances of a device as they stand.
func Parts(all []fleet.MIGInstance, tone func(*fleet.MIGInstance) theme.Name) []Part {
	parts := make([]Part, 0, len(all))
	for i := range all {
		in := &all[i]
		parts = append(parts, Part{in.Start, in.Size, in.Profile, tone(in)})
	}
	return parts
}

// Slices is how many memory slices a board has: as told, or at least as many as its
// instances reach.
func Slices(m fleet.MIGState) int {
	n := m.Slices
	for i := range m.Instances {
		n = max(n, m.Instances[i].Start+m.Instances[i].Size)
	}
	return n
}

// Draw draws the parts of a board with so many slices in exactly width cells. What no
// part takes is shaded.
func Draw(th *theme.Theme, board int, parts []Part, width int) string {
	if board <= 0 || width <= board {
		return line.Spaces(width)
	}
	g := th.Glyphs
	at := func(slice int) int { return min(slice, board) * (width - 1) / board }
	var b strings.Builder
	drawn := 0
	free := func(upTo int) {
		if room := at(upTo) - at(drawn); room > 0 {
			b.WriteString(th.Paint(theme.Border, g.Vertical) + th.Paint(theme.Dim, strings.Repeat(g.Shade, room-1)))
			drawn = upTo
		}
	}
	for _, p := range inOrder(parts) {
		if p.Start < drawn || p.Size <= 0 || p.Start >= board {
			continue // overlaps, or is no place of this board: not drawn rather than drawn wrong
		}
		free(p.Start)
		room := at(p.Start+p.Size) - at(p.Start)
		b.WriteString(th.Paint(theme.Border, g.Vertical) + th.Paint(p.Tone, line.Fit(line.Clean(p.Label), room-1, "")))
		drawn = min(p.Start+p.Size, board)
	}
	free(board)
	return b.String() + th.Paint(theme.Border, g.Vertical)
}

func inOrder(parts []Part) []Part {
	out := slices.Clone(parts)
	slices.SortStableFunc(out, func(a, b Part) int { return cmp.Compare(a.Start, b.Start) })
	return out
}
