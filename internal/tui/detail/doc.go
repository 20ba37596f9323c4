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
	var out []string
	for i, part := range line.Wrap(l.Text, room) {
		part = line.Cut(part, room, "") // very narrow, a wrapped part can stick out
		lead := line.Spaces(indent)
		if i == 0 && indent > 0 {
			lead = th.Paint(theme.Dim, line.Fit(l.Label, indent-1, th.Glyphs.Ellipsis)) + " "
		}
		out = append(out, lead+th.Paint(l.Tone, part))
	}
	return out
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
