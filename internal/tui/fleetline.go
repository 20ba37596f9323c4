package tui

import (
	"strings"

	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/page"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// maxBar is the widest bar of a model; a wider one tells nothing more.
const maxBar = 24

// minBar is the narrowest bar that still tells shares apart.
const minBar = 8

// fleetLine is the second line: what the GPUs of every model do, and what the
// queue wants. It gets briefer until it fits; models that still do not fit are
// counted.
func (m *Model) fleetLine(width int) string {
	if m.snap != nil && len(m.tallies) == 0 {
		return m.th.Paint(theme.Dim, line.Fit(" no GPUs known", width, ""))
	}
	for brief := range 2 {
		right := m.demandSpans(brief)
		left := m.tallyLine(len(m.tallies), 0, brief == 1)
		if over := widthOf(left) + widthOf(right) - width; over <= 0 {
			bar := min(maxBar, -over/max(1, len(m.tallies))-1)
			return m.ends(m.tallyLine(len(m.tallies), bar, brief == 1), right, width)
		}
	}
	right := m.demandSpans(2)
	for n := len(m.tallies); n > 1; n-- {
		if left := m.tallyLine(n, 0, true); widthOf(left)+widthOf(right) <= width {
			return m.ends(left, right, width)
		}
	}
	return m.ends(m.tallyLine(min(1, len(m.tallies)), 0, true), right, width)
}

// ends puts spans at both ends of a line; what does not fit is cut from the left one.
func (m *Model) ends(left, right []span, width int) string {
	room := max(0, width-widthOf(right))
	return line.Fit(line.Cut(paint(m.th, left), room, m.th.Glyphs.Ellipsis), room, "") + line.Cut(paint(m.th, right), width, "")
}

// tallyLine is the first n models, with bars when there is room for them.
func (m *Model) tallyLine(n, bar int, brief bool) []span {
	var spans []span
	for _, t := range m.tallies[:n] {
		spans = append(spans, m.tallySpans(t, bar, brief)...)
	}
	if rest := len(m.tallies) - n; rest > 0 {
		spans = append(spans, span{theme.Dim, " +" + words.Plural(rest, "model")})
	}
	return spans
}

func (m *Model) demandSpans(brief int) []span {
	jobs, gpus := words.Count(m.demand.Jobs), words.Count(m.demand.GPUs)
	dim := func(s string) span { return span{theme.Dim, s} }
	text := func(s string) span { return span{theme.Text, s} }
	switch {
	case m.snap == nil:
		return nil
	case brief == 0:
		return []span{dim(" queue "), text(words.Plural(m.demand.Jobs, "job")), dim(" want "), text(gpus), dim(" GPUs ")}
	case brief == 1:
		return []span{dim(" queue "), text(jobs), dim(" want "), text(gpus + " ")}
	}
	return []span{dim(" want "), text(gpus + " ")}
}

func (m *Model) tallySpans(t page.Tally, bar int, brief bool) []span {
	spans := []span{{theme.Title, " " + line.Clean(t.Model)}, {theme.Text, " " + words.Count(t.Total) + " "}}
	spans = append(spans, m.bar(t, bar)...)
	for _, part := range []struct {
		n           int
		word, short string
		tone        theme.Name
		must        bool
	}{
		{t.Busy, "busy", "busy", theme.Busy, true},
		{t.Free, "free", "free", theme.Free, true},
		{t.Draining, "draining", "drain", theme.Draining, false},
		{t.Faulty, "faulty", "fault", theme.Faulty, false},
		{t.Other, "other", "other", theme.Dim, false},
	} {
		word := part.word
		if brief {
			word = part.short
		}
		if part.n > 0 || part.must {
			spans = append(spans, span{part.tone, " " + words.Count(part.n)}, span{theme.Dim, " " + word})
		}
	}
	return append(spans, span{theme.Text, " "})
}

// bar shares out width cells by count; whatever is there gets at least one cell.
// Every part has a symbol of its own, so that it can be read without colours.
func (m *Model) bar(t page.Tally, width int) []span {
	if width < minBar || t.Total == 0 {
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
