// Package spark draws small numbers as short rows of blocks, with an ASCII set for
// terminals that have no other. The strings hold no styles.
package spark

import (
	"math"
	"strings"

	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// Bar is a bar of exactly width cells, filled to fraction. Something above nothing
// shows at least one cell, and only everything fills the last one.
func Bar(g theme.Glyphs, fraction float64, width int) string {
	full := cells(fraction, width)
	return strings.Repeat(g.Block, full) + strings.Repeat(g.Shade, max(0, width-full))
}

func cells(fraction float64, width int) int {
	switch {
	case width <= 0 || !(fraction > 0): // not a number counts as nothing
		return 0
	case fraction >= 1:
		return width
	}
	return max(1, min(width-1, int(math.Round(fraction*float64(width)))))
}

// Share splits width cells among counts in proportion. Every count above zero gets
// a cell as long as there are enough, so that one faulty GPU among 512 is seen.
func Share(counts []int, width int) []int {
	sum, some := 0, 0
	for _, c := range counts {
		sum += max(0, c)
		if c > 0 {
			some++
		}
	}
	out := make([]int, len(counts))
	if sum == 0 || width <= 0 {
		return out
	}
	sure := 0 // the cell that each is sure of
	if some <= width {
		sure = 1
	}
	used, seen := 0, 0
	rest := width - sure*some
	for i, c := range counts {
		if c <= 0 {
			continue
		}
		seen += c
		upTo := int(math.Round(float64(rest) * float64(seen) / float64(sum)))
		out[i] = sure + upTo - used
		used = upTo
	}
	return out
}

// Line draws values as one cell each, the newest width of them, between 0 and top.
// What is not a number leaves a gap: absent is not zero.
func Line(g theme.Glyphs, values []float64, top float64, width int) string {
	values = values[max(0, len(values)-max(width, 0)):]
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", max(0, width-len(values))))
	for _, v := range values {
		b.WriteString(step(g, v, top))
	}
	return b.String()
}

func step(g theme.Glyphs, v, top float64) string {
	if math.IsNaN(v) {
		return " "
	}
	last := len(g.Steps) - 1
	if top <= 0 || v <= 0 {
		return g.Steps[0]
	}
	return g.Steps[min(last, int(v/top*float64(last)+0.5))]
}
