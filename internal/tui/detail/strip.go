package detail

import (
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/spark"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// strip shows the devices of a node that an agent watches, one a line.
func (d *Doc) strip(n *fleet.Node, m words.Moment) {
	d.head("GPUs")
	for i := range n.GPUs {
		g := &n.GPUs[i]
		text := stripText(n, g)
		past := m.Past.Of(g.UUID).Util
		*d = append(*d, Line{Text: strconv.Itoa(g.Index) + " " + text, Tone: tone.GPU(g), Draw: func(th *theme.Theme, width int) string {
			return stripLine(th, n, g, past, width)
		}})
		if g.MIG.Current == fleet.MIGEnabled {
			d.migBar(g, "  MIG")
		}
		if f := words.Faults(g); f != "" {
			d.tone("  faults", f, theme.Crit)
		}
	}
}

// stripText is a device in words.
func stripText(n *fleet.Node, g *fleet.GPU) string {
	if g.Silent() {
		return strings.TrimSuffix(words.GPUState(g)+": "+g.Health.Why, ": ")
	}
	return strings.Join([]string{
		words.Reading(g.Temp, "C"), words.Reading(g.Power, "W"), words.Util(g), words.GPUMemory(g),
		words.GPUOwner(n, g), words.GPUUser(n, g),
	}, " ")
}

// stripCells is how wide the picture of a device's load is.
const stripCells = 9

// stripLine is a device on one line: index, state, load, readings, who holds it.
func stripLine(th *theme.Theme, n *fleet.Node, g *fleet.GPU, past []float64, width int) string {
	t := tone.GPU(g)
	head := line.Fit(strconv.Itoa(g.Index), 2, "") + " " + th.Paint(t, th.Glyphs.Of(t)) + " "
	if g.Silent() {
		return line.Fit(head+th.Paint(t, line.Clean(stripText(n, g))), width, th.Glyphs.Ellipsis)
	}
	parts := []string{
		loadCells(th, g, past),
		th.Paint(tone.Temp(g), right(words.Reading(g.Temp, "C"), 4)),
		right(words.Reading(g.Power, "W"), 5),
		th.Paint(tone.Use(n.UseOf(g)), words.GPUOwner(n, g)),
		words.GPUUser(n, g), words.GPUMemory(g),
	}
	return line.Fit(head+strings.Join(parts, " "), width, th.Glyphs.Ellipsis)
}

// loadCells is how busy the device was, or is; blank where that cannot be told.
func loadCells(th *theme.Theme, g *fleet.GPU, past []float64) string {
	switch {
	case len(past) > 1:
		return spark.Line(th.Glyphs, past, 100, stripCells)
	case g.Util.Quality == fleet.Known:
		return spark.Bar(th.Glyphs, g.Util.Value/100, stripCells)
	}
	return line.Fit(words.Util(g), stripCells, "")
}

func right(text string, width int) string { return line.Spaces(width-line.Width(text)) + text }
