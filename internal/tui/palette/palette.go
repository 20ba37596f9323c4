// Package palette is the ":" line: every verb of the command line, with completion
// of verbs and their arguments, and the reason why a verb is off.
package palette

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/tui/input"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// Command is one verb.
type Command struct {
	Name string
	Args string // how its arguments are written, for the hint: "NODE... --reason TEXT"
	Help string
	// Off is the reason why it cannot be used now; it stays in the list, so that
	// one can read why.
	Off string
	// Complete lists words that can stand as the argument being written; words are
	// the ones before it, without the verb. Nil: nothing to complete.
	Complete func(words []string, prefix string) []string
}

// Errors of a line that cannot be run.
var (
	// ErrUnknown: no command has that name.
	ErrUnknown = errors.New("unknown command")
	// ErrQuote: a quotation mark is missing.
	ErrQuote = errors.New("missing closing quotation mark")
)

// maxCandidates bounds a completion list: nobody reads 7,500 node names.
const maxCandidates = 50

// Palette is the command line of the console. Make one with New.
type Palette struct {
	th       *theme.Theme
	field    *input.Field
	commands []Command
}

// New makes a palette. Open sets its commands.
func New(th *theme.Theme) *Palette {
	p := &Palette{th: th, field: input.New(th, ":")}
	p.field.Complete = p.complete
	return p
}

// Open empties the line, or starts it with text, and offers commands.
func (p *Palette) Open(commands []Command, text string) {
	p.commands = commands
	p.field.SetValue(text)
}

// Press takes a key. After input.Submitted, Words has the line.
func (p *Palette) Press(k tea.KeyPressMsg) input.Result {
	r := p.field.Press(k)
	if r == input.Submitted {
		p.field.Remember()
	}
	return r
}

// Paste puts text in at the cursor.
func (p *Palette) Paste(text string) { p.field.Paste(text) }

// Words is the line split into the command and its arguments. A unique beginning
// of a name is enough.
func (p *Palette) Words() (Command, []string, error) {
	words, err := Split(p.field.Value())
	if err != nil {
		return Command{}, nil, err
	}
	if len(words) == 0 {
		return Command{}, nil, nil
	}
	c, err := p.find(words[0])
	return c, words[1:], err
}

func (p *Palette) find(name string) (Command, error) {
	var starts []Command
	for _, c := range p.commands {
		if c.Name == name {
			return c, nil
		}
		if strings.HasPrefix(c.Name, name) {
			starts = append(starts, c)
		}
	}
	switch len(starts) {
	case 0:
		return Command{}, fmt.Errorf("%s: %w", name, ErrUnknown)
	case 1:
		return starts[0], nil
	}
	return Command{}, fmt.Errorf("%s: %w: it could be %s or %s", name, ErrUnknown, starts[0].Name, starts[1].Name)
}

// complete lists whole lines for the field.
func (p *Palette) complete(text string) []string {
	cut := strings.LastIndexByte(text, ' ') + 1
	before, prefix := text[:cut], text[cut:]
	var words []string
	if before == "" {
		for _, c := range p.commands {
			words = append(words, c.Name)
		}
	} else {
		words = p.arguments(before, prefix)
	}
	var found []string
	for _, w := range words {
		if strings.HasPrefix(w, prefix) && len(found) < maxCandidates {
			found = append(found, before+quote(w))
		}
	}
	return found
}

func (p *Palette) arguments(before, prefix string) []string {
	words, err := Split(before)
	if err != nil || len(words) == 0 {
		return nil
	}
	c, err := p.find(words[0])
	if err != nil || c.Complete == nil {
		return nil
	}
	return c.Complete(words[1:], prefix)
}

// View draws the line and, above it, what can follow and what it would do, in
// exactly width x height cells.
func (p *Palette) View(width, height int) string {
	if height <= 0 || width <= 0 {
		return ""
	}
	lines := []string{p.field.View(width)}
	if height > 1 {
		lines = slices.Insert(lines, 0, line.Fit(p.hint(width), width, ""))
	}
	if room := height - 2; room > 0 {
		lines = slices.Insert(lines, 0, strings.Split(p.list(width, room), "\n")...)
	}
	return line.Block(lines, width, height)
}

// Height is how many lines are worth drawing.
func (p *Palette) Height() int {
	found, _ := p.field.Candidates()
	return 2 + min(len(found), 10)
}

// list draws verbs with their help, and arguments alone.
func (p *Palette) list(width, height int) string {
	if strings.Contains(p.field.Value(), " ") {
		return p.field.ListView(width, height)
	}
	found, chosen := p.field.Candidates()
	first := max(0, chosen-height+1)
	var lines []string
	for i := first; i < len(found) && len(lines) < height; i++ {
		c, err := p.find(found[i])
		if err != nil {
			continue
		}
		lines = append(lines, p.verb(c, i == chosen, width))
	}
	return line.Block(lines, width, height)
}

func (p *Palette) verb(c Command, chosen bool, width int) string {
	style, help := theme.Text, c.Help
	if c.Off != "" {
		style, help = theme.Dim, "off: "+c.Off
	}
	text := line.Fit(fmt.Sprintf(" %-12s %s", c.Name, line.Clean(help)), width, p.th.Glyphs.Ellipsis)
	if chosen {
		return p.th.PaintSelected(style, text)
	}
	return p.th.Paint(style, text)
}

// hint is how the command on the line is written, or what is wrong with it.
func (p *Palette) hint(width int) string {
	c, _, err := p.Words()
	switch tail := p.th.Glyphs.Ellipsis; {
	case err != nil:
		return p.th.Paint(theme.Warn, line.Cut(" "+line.Clean(err.Error()), width, tail))
	case c.Off != "":
		return p.th.Paint(theme.Warn, line.Cut(" "+c.Name+" is off: "+line.Clean(c.Off), width, tail))
	case c.Name == "":
		return p.th.Paint(theme.Dim, line.Cut(" a command; Tab completes, Esc closes", width, tail))
	default:
		return p.th.Paint(theme.Dim, line.Cut(" "+strings.TrimSpace(c.Name+" "+c.Args)+": "+c.Help, width, tail))
	}
}

// Split cuts a line into words at spaces; quotation marks, single or double, hold
// words together.
func Split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, mark := false, rune(0)
	for _, r := range text {
		switch {
		case mark != 0 && r == mark:
			mark = 0
		case mark != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			mark, inWord = r, true
		case r == ' ' && inWord:
			words = append(words, word.String())
			word.Reset()
			inWord = false
		case r != ' ':
			word.WriteRune(r)
			inWord = true
		}
	}
	if mark != 0 {
		return nil, ErrQuote
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

func quote(word string) string {
	switch {
	case !strings.ContainsAny(word, ` '"`):
		return word
	case strings.Contains(word, "'"):
		return `"` + word + `"`
	}
	return "'" + word + "'"
}
