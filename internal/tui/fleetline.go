package tui

import (
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/page"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// maxBar is the widest bar of a model; a wider one tells nothing more.
const maxBar = 24

// fleetLine is the second line: what the GPUs of every model do, and what the
// queue wants. What does not fit is counted.
func (m *Model) fleetLine(width int) string {
	right := m.demandSpans(width)
	room := width - widthOf(right) - 1
	var left []span
	for i, t := range m.tallies {
		bar := 0
		if len(m.tallies) <= 2 {
			bar = min(maxBar, (width-80)/(2*len(m.tallies)))
		}
		more := []span(nil)
		if rest := len(m.tallies) - i - 1; rest > 0 {
			more = []span{{theme.Dim, fmt.Sprintf(" +%s", words.Plural(rest, "model"))}}
		}
		next := append(left[:len(left):len(left)], m.tallySpans(t, bar)...)
		if widthOf(next)+widthOf(more) > room && i > 0 {
			left = append(left, span{theme.Dim, fmt.Sprintf(" +%s", words.Plural(len(m.tallies)-i, "model"))})
			break
		}
		left = next
	}
	if len(m.tallies) == 0 && m.snap != nil {
		left = []span{{theme.Dim, " no GPUs known"}}
	}
	text := line.Cut(paint(m.th, left), max(0, room), m.th.Glyphs.Ellipsis)
	return line.Fit(text, max(0, width-widthOf(right)), "") + paint(m.th, right)
}

func (m *Model) demandSpans(width int) []span {
	if m.snap == nil {
		return nil
	}
	if width < 60 {
		return []span{{theme.Dim, "want "}, {theme.Text, words.Count(m.demand.GPUs) + " "}}
	}
	return []span{
		{theme.Dim, "queue "},
		{theme.Text, words.Plural(m.demand.Jobs, "job")},
		{theme.Dim, " want "},
		{theme.Text, words.Count(m.demand.GPUs) + " "},
	}
}

func (m *Model) tallySpans(t page.Tally, bar int) []span {
	spans := []span{{theme.Title, " " + line.Clean(t.Model)}, {theme.Text, " " + words.Count(t.Total) + " "}}
	spans = append(spans, m.bar(t, bar)...)
	for _, part := range []struct {
		n    int
		word string
		tone theme.Name
		must bool
	}{
		{t.Busy, "busy", theme.Busy, true},
		{t.Free, "free", theme.Free, true},
		{t.Draining, "draining", theme.Draining, false},
		{t.Faulty, "faulty", theme.Faulty, false},
		{t.Other, "other", theme.Dim, false},
	} {
		if part.n > 0 || part.must {
			spans = append(spans, span{part.tone, " " + words.Count(part.n)}, span{theme.Dim, " " + part.word})
		}
	}
	return append(spans, span{theme.Text, " "})
}

// bar shares out width cells by count; whatever is there gets at least one cell.
// Every part has a symbol of its own, so that it can be read without colours.
func (m *Model) bar(t page.Tally, width int) []span {
	if width < 8 || t.Total == 0 {
		return nil
	}
	g := m.th.Glyphs
	parts := []struct {
		n     int
		glyph string
		tone  theme.Name
	}{
		{t.Faulty, g.Crit, theme.Faulty},
		{t.Draining, g.Half, theme.Draining},
		{t.Other, g.Skipped, theme.Dim},
		{t.Free, g.Shade, theme.Free},
	}
	var tail []span
	left := width
	for _, p := range parts {
		cells := share(p.n, t.Total, width)
		if cells = min(cells, left); cells > 0 {
			tail = append([]span{{p.tone, strings.Repeat(p.glyph, cells)}}, tail...)
			left -= cells
		}
	}
	return append([]span{{theme.Busy, strings.Repeat(g.Block, left)}}, tail...)
}

func share(n, total, width int) int {
	if n == 0 {
		return 0
	}
	return max(1, n*width/total)
}
