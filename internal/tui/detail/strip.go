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
