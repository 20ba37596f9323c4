// Package theme turns a theme file into ready-made styles and symbols.
//
// A part of the console never names a colour: it asks for a Name such as Warn.
// All parts share one *Theme; replacing its value (*th = *other) changes them
// all at once, on the goroutine that draws.
//
// A theme file is YAML:
//
//	description: one line
//	base: dark                 # optional: names not given come from there; else from terminal
//	background: "#15181e"      # optional: what the colours were chosen for; the console sets it
//	styles:
//	  warn: {fg: "#f0c05a", bg: black, bold: true, faint: true, underline: true, reverse: true}
//
// Colours are the 16 names (red, bright-red...), 0 to 255, or #rrggbb.
package theme

import (
	"fmt"
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
)

// Name is what a piece of text means. Themes decide how it looks.
type Name uint8

// The names that a theme gives a style to.
const (
	Text      Name = iota
	Dim            // less important: labels, ages, units
	Accent         // the console's own colour: active tab, cluster
	Border         // lines and frames
	Title          // headings
	Selection      // the row under the cursor
	Mark           // marked rows
	Key            // a key one can press
	OK             // severities and verdicts
	Warn
	Crit
	Info
	Busy // states of the fleet
	Free
	Draining
	Faulty
	Stale // a value too old to be believed
	Prod  // a production cluster
	names // how many there are
)

var nameWords = [names]string{
	"text", "dim", "accent", "border", "title", "selection", "mark", "key",
	"ok", "warn", "crit", "info", "busy", "free", "draining", "faulty", "stale", "prod",
}

// String is the word used in theme files.
func (n Name) String() string { return nameWords[n] }

// Names lists every name, in the order of the constants.
func Names() []Name {
	all := make([]Name, names)
	for i := range all {
		all[i] = Name(i)
	}
	return all
}

// Theme is a full set of styles, and the glyphs to draw with.
type Theme struct {
	Title       string // the name it was loaded by
	Description string
	Glyphs      Glyphs
	// Background is what the colours were chosen for; nil leaves the terminal's own.
	Background color.Color
	looks      [names]look
	selected   [names]look
}

// look is a style with its escape sequences worked out in advance: rendering
// with Lip Gloss for every cell would be most of the time that a frame takes.
type look struct {
	spec          spec
	style         lipgloss.Style
	before, after string
}

func newLook(s spec) look {
	st := s.style()
	before, after, _ := strings.Cut(st.Render("x"), "x")
	return look{spec: s, style: st, before: before, after: after}
}

func (l *look) paint(text string) string {
	if text == "" || l.before == "" {
		return text
	}
	return l.before + text + l.after
}

// Style is the Lip Gloss style of a name.
func (t *Theme) Style(n Name) lipgloss.Style { return t.looks[n].style }

// Paint styles one line of text that holds no styles of its own.
func (t *Theme) Paint(n Name, text string) string { return t.looks[n].paint(text) }

// PaintSelected is Paint for text in the row under the cursor.
func (t *Theme) PaintSelected(n Name, text string) string { return t.selected[n].paint(text) }

// PaintCursor styles the character under the cursor of a text field.
func (t *Theme) PaintCursor(text string) string { return "\x1b[7m" + text + "\x1b[27m" }

// WithAccent is a copy of the theme with another accent colour, for a cluster.
func (t *Theme) WithAccent(colour string) (*Theme, error) {
	if _, err := parseColour(colour); err != nil {
		return nil, fmt.Errorf("accent: %w", err)
	}
	c := *t
	s := c.looks[Accent].spec
	s.FG = colour
	c.set(Accent, s)
	return &c, nil
}

// ASCII is a copy of the theme that draws with ASCII only.
func (t *Theme) ASCII() *Theme {
	c := *t
	c.Glyphs = NewGlyphs(true)
	return &c
}

func (t *Theme) set(n Name, s spec) {
	t.looks[n] = newLook(s)
	t.selected[n] = newLook(s.on(t.looks[Selection].spec))
}
