// Package detail writes what the console knows about one node, job, finding or
// event as a document: titled sections of labelled lines, laid out to any width.
//
// Everything in it is a pure function of a snapshot and of the moment shown. It
// imports fleet and triage beside the console's own text packages.
package detail

import (
	"slices"
	"strings"

	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Line is one logical line; it may wrap to several on the screen.
type Line struct {
	Head  bool   // starts a section
	Label string // in front of Text; may be empty
	Text  string
	Tone  theme.Name
	// Draw draws it in so many cells instead of Text, on one line.
	Draw func(th *theme.Theme, width int) string
	// Tail draws behind the text what there is room for on its last line.
	Tail func(th *theme.Theme, width int) string
}

// Doc is a document, top to bottom.
type Doc []Line

func (d *Doc) head(title string) { *d = append(*d, Line{Head: true, Text: title, Tone: theme.Title}) }

// say adds a labelled line; a value that is empty is left out.
func (d *Doc) say(label, text string) { d.tone(label, text, theme.Text) }

func (d *Doc) tone(label, text string, tone theme.Name) {
	if text != "" && text != words.None {
		*d = append(*d, Line{Label: label, Text: line.Clean(text), Tone: tone})
	}
}

// once adds a line unless the document already says the same: a finding and the
// thing it is about often give the same advice.
func (d *Doc) once(label, text string, tone theme.Name) {
	if !slices.ContainsFunc(*d, func(l Line) bool { return l.Text == line.Clean(text) }) {
		d.tone(label, text, tone)
	}
}

// Block adds a section of text from outside, line by line.
func (d *Doc) Block(title, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	d.head(title)
	for _, l := range words.Lines(text) {
		*d = append(*d, Line{Text: l, Tone: theme.Text})
	}
}

// labelWidth is the column that labels take.
const labelWidth = 11

// Render lays the document out in lines of at most width cells.
func (d Doc) Render(th *theme.Theme, width int) []string {
	var out []string
	for _, l := range d {
		if l.Head {
			if len(out) > 0 {
				out = append(out, "")
			}
			for _, part := range line.Wrap(l.Text, width) {
				out = append(out, th.Paint(l.Tone, line.Cut(part, width, "")))
			}
			continue
		}
		out = append(out, l.render(th, width)...)
	}
	return out
}

func (l Line) render(th *theme.Theme, width int) []string {
	indent := 0
	if l.Label != "" {
		indent = min(max(labelWidth, line.Width(l.Label)+1), width/2)
	}
	room := max(1, width-indent)
	lead := line.Spaces(indent)
	if indent > 0 {
		lead = th.Paint(theme.Dim, line.Fit(l.Label, indent-1, th.Glyphs.Ellipsis)) + " "
	}
	if l.Draw != nil {
		return []string{lead + l.Draw(th, room)}
	}
	parts := line.Wrap(l.Text, room)
	out := make([]string, 0, len(parts))
	for _, part := range parts {
		part = line.Cut(part, room, "") // very narrow, a wrapped part can stick out
		out = append(out, lead+th.Paint(l.Tone, part))
		lead = line.Spaces(indent)
	}
	if n := len(parts) - 1; l.Tail != nil && n >= 0 {
		out[n] += l.tail(th, room-line.Width(parts[n]))
	}
	return out
}

// leastTail is the narrowest tail that tells anything.
const leastTail = 4

func (l Line) tail(th *theme.Theme, room int) string {
	if room < leastTail+2 {
		return ""
	}
	return "  " + l.Tail(th, room-2)
}

// Plain is the document without styles, for copying.
func (d Doc) Plain() string {
	var b strings.Builder
	for _, l := range d {
		switch {
		case l.Head:
			b.WriteString("\n" + l.Text + "\n")
		case l.Label != "":
			b.WriteString(l.Label + ": " + l.Text + "\n")
		default:
			b.WriteString(l.Text + "\n")
		}
	}
	return strings.TrimLeft(b.String(), "\n")
}
