// Package input is a one-line text field with history and completion, for the
// filter, the command palette and forms.
//
// A field takes every key while it has the focus, so that no letter typed into it
// can act as a command. It does no I/O: pasted text comes in by Paste.
package input

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// Result is what a key did to a field.
type Result uint8

// The results of a key.
const (
	Ignored   Result = iota // the field has no use for it
	Moved                   // cursor or candidates changed, the text did not
	Edited                  // the text changed
	Submitted               // Enter
	Cancelled               // Esc
)

// Field is the text field. Make one with New.
type Field struct {
	Prompt      string // drawn before the text
	Placeholder string // drawn while there is no text
	// Complete lists whole texts that could stand instead of the given one, best
	// first. Nil: no completion.
	Complete func(text string) []string

	th      *theme.Theme
	text    []string // characters as people count them
	at      int      // cursor: before text[at]
	history []string // oldest first
	back    int      // how far back in history; 0 is the text being written
	draft   string   // that text, while looking back
	found   []string // candidates shown
	choice  int      // chosen candidate; -1 none
}

// New makes an empty field.
func New(th *theme.Theme, prompt string) *Field {
	return &Field{th: th, Prompt: prompt, choice: -1}
}

// Value is the text.
func (f *Field) Value() string { return strings.Join(f.text, "") }

// SetValue replaces the text and puts the cursor at its end.
func (f *Field) SetValue(s string) {
	f.text = characters(line.Clean(s))
	f.at = len(f.text)
	f.back = 0
	f.look()
}

// SetHistory sets earlier texts, oldest first, for the up and down keys.
func (f *Field) SetHistory(texts []string) { f.history, f.back = slices.Clone(texts), 0 }

// Remember adds the text to the history, unless it is empty or already the newest.
func (f *Field) Remember() {
	text := f.Value()
	if text == "" || (len(f.history) > 0 && f.history[len(f.history)-1] == text) {
		return
	}
	f.history = append(f.history, text)
}

// History lists earlier texts, oldest first.
func (f *Field) History() []string { return slices.Clone(f.history) }

// Candidates lists the completions found, and which one is chosen; -1 none.
func (f *Field) Candidates() (texts []string, chosen int) { return f.found, f.choice }

// Paste puts text in at the cursor, on one line.
func (f *Field) Paste(text string) {
	f.insert(strings.Join(strings.Fields(text), " "))
}

// Press takes a key.
func (f *Field) Press(k tea.KeyPressMsg) Result {
	switch name := k.String(); name {
	case "enter":
		return Submitted
	case "esc":
		return Cancelled
	case "tab", "ctrl+n":
		return f.cycle(1)
	case "shift+tab", "ctrl+p":
		return f.cycle(-1)
	case "up":
		return f.recall(1)
	case "down":
		return f.recall(-1)
	default:
		if edit, ok := edits[name]; ok {
			return edit(f)
		}
	}
	if k.Text == "" || strings.ContainsFunc(k.Text, unicode.IsControl) {
		return Ignored
	}
	f.insert(k.Text)
	return Edited
}

// edits are the keys of a shell's command line.
var edits = map[string]func(*Field) Result{
	"left":      func(f *Field) Result { return f.move(f.at - 1) },
	"ctrl+b":    func(f *Field) Result { return f.move(f.at - 1) },
	"right":     func(f *Field) Result { return f.move(f.at + 1) },
	"ctrl+f":    func(f *Field) Result { return f.move(f.at + 1) },
	"home":      func(f *Field) Result { return f.move(0) },
	"ctrl+a":    func(f *Field) Result { return f.move(0) },
	"end":       func(f *Field) Result { return f.move(len(f.text)) },
	"ctrl+e":    func(f *Field) Result { return f.move(len(f.text)) },
	"backspace": func(f *Field) Result { return f.remove(f.at-1, f.at) },
	"ctrl+h":    func(f *Field) Result { return f.remove(f.at-1, f.at) },
	"delete":    func(f *Field) Result { return f.remove(f.at, f.at+1) },
	"ctrl+d":    func(f *Field) Result { return f.remove(f.at, f.at+1) },
	"ctrl+u":    func(f *Field) Result { return f.remove(0, f.at) },
	"ctrl+k":    func(f *Field) Result { return f.remove(f.at, len(f.text)) },
	"ctrl+w":    func(f *Field) Result { return f.remove(f.wordStart(), f.at) },
}

func (f *Field) move(to int) Result {
	f.at = max(0, min(to, len(f.text)))
	return Moved
}

func (f *Field) remove(from, to int) Result {
	from, to = max(0, from), min(to, len(f.text))
	if from >= to {
		return Moved
	}
	f.text = slices.Delete(f.text, from, to)
	f.at = from
	f.back = 0
	f.look()
	return Edited
}

func (f *Field) insert(s string) {
	// Cut into characters anew: an accent may have joined the letter before it.
	before := characters(line.Clean(strings.Join(f.text[:f.at], "") + s))
	f.text = append(before, f.text[f.at:]...)
	f.at = len(before)
	f.back = 0
	f.look()
}

func (f *Field) wordStart() int {
	i := f.at
	for i > 0 && f.text[i-1] == " " {
		i--
	}
	for i > 0 && f.text[i-1] != " " {
		i--
	}
	return i
}

// look asks for the completions of the text as it is now.
func (f *Field) look() {
	f.found, f.choice = nil, -1
	if f.Complete != nil {
		f.found = f.Complete(f.Value())
	}
}

// cycle takes the next or previous candidate as the text.
func (f *Field) cycle(step int) Result {
	if f.found == nil {
		f.look()
	}
	n := len(f.found)
	if n == 0 {
		return Ignored
	}
	if f.choice < 0 && step < 0 {
		f.choice = 0
	}
	f.choice = (f.choice + step + n) % n
	f.text = characters(f.found[f.choice])
	f.at = len(f.text)
	return Edited
}

// recall walks the history: 1 is one text further back.
func (f *Field) recall(step int) Result {
	to := f.back + step
	if to < 0 || to > len(f.history) {
		return Ignored
	}
	if f.back == 0 {
		f.draft = f.Value()
	}
	text := f.draft
	if to > 0 {
		text = f.history[len(f.history)-to]
	}
	f.SetValue(text)
	f.back = to
	return Edited
}

// View draws prompt, text and cursor in exactly width cells.
func (f *Field) View(width int) string {
	prompt := line.Cut(f.Prompt, width, "")
	room := width - line.Width(prompt)
	if room <= 0 {
		return f.th.Paint(theme.Key, line.Fit(prompt, width, ""))
	}
	under, after := " ", ""
	if f.at < len(f.text) {
		under, after = f.text[f.at], strings.Join(f.text[f.at+1:], "")
	}
	if line.Width(under) > room {
		under = " "
	}
	before := lastFitting(f.text[:f.at], room-line.Width(under))
	style := theme.Text
	if len(f.text) == 0 {
		style = theme.Dim
		after = f.Placeholder
	}
	after = line.Fit(after, room-line.Width(before)-line.Width(under), "")
	return f.th.Paint(theme.Key, prompt) + f.th.Paint(theme.Text, before) +
		f.th.PaintCursor(under) + f.th.Paint(style, after)
}

// ListView draws the candidates in exactly width x height cells, the chosen one
// always among them.
func (f *Field) ListView(width, height int) string {
	first := max(0, min(f.choice-height+1, len(f.found)-height))
	var lines []string
	for i := first; i < len(f.found) && len(lines) < height; i++ {
		text := line.Fit(" "+line.Clean(f.found[i]), width, f.th.Glyphs.Ellipsis)
		if i == f.choice {
			text = f.th.PaintSelected(theme.Text, text)
		}
		lines = append(lines, text)
	}
	return line.Block(lines, width, height)
}

// lastFitting is the end of the text that fits into width cells.
func lastFitting(text []string, width int) string {
	used, from := 0, len(text)
	for from > 0 && used+line.Width(text[from-1]) <= width {
		from--
		used += line.Width(text[from])
	}
	return strings.Join(text[from:], "")
}

func characters(s string) []string {
	var all []string
	for s != "" {
		var c string
		c, s = line.First(s)
		all = append(all, c)
	}
	return all
}
