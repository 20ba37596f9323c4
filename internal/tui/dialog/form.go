package dialog

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

// FormField is one line of a form: free text, one of Choices, or yes and no.
type FormField struct {
	ID    string
	Label string
	Help  string // shown while the field has the focus
	Value string // at the start; "true" or "false" with Bool
	// Choices makes it a choice among these.
	Choices []string
	// Bool makes it a tick.
	Bool bool
	// Required texts must not be empty.
	Required bool
	// Check says what is wrong with a value. Nil: nothing.
	Check func(string) error
	// Complete lists values that could stand instead of the text.
	Complete func(string) []string
}

// Values are what was filled in, by field ID.
type Values map[string]string

// Bool tells whether a tick is set.
func (v Values) Bool(id string) bool { return v[id] == "true" }

// Form asks for several values at once.
type Form struct {
	box
	intro  string
	fields []FormField
	inputs []*input.Field // nil for choices and ticks
	focus  int
	wrong  string
	submit func(Values) tea.Cmd
}

// NewForm makes a form. submit is called once every value passes its check.
func NewForm(th *theme.Theme, title, intro string, fields []FormField, submit func(Values) tea.Cmd) *Form {
	f := &Form{box: box{th: th, title: title}, intro: intro, fields: slices.Clone(fields), submit: submit}
	for i := range f.fields {
		ff := &f.fields[i]
		if ff.Bool {
			ff.Choices = []string{"false", "true"}
		}
		if len(ff.Choices) == 0 {
			in := input.New(th, "")
			in.Complete = ff.Complete
			in.SetValue(ff.Value)
			f.inputs = append(f.inputs, in)
			continue
		}
		if !slices.Contains(ff.Choices, ff.Value) {
			ff.Value = ff.Choices[0]
		}
		f.inputs = append(f.inputs, nil)
	}
	return f
}

// Early takes text that was typed ahead, but nothing that submits.
func (f *Form) Early(k tea.KeyPressMsg) bool { return k.String() != "enter" && k.String() != "esc" }

// Paste puts text into the text field that has the focus.
func (f *Form) Paste(text string) bool {
	if len(f.inputs) == 0 || f.inputs[f.focus] == nil {
		return false
	}
	f.inputs[f.focus].Paste(text)
	return true
}

// Press takes a key.
func (f *Form) Press(k tea.KeyPressMsg) (bool, Answer) {
	in := f.focused()
	switch k.String() {
	case "esc":
		return true, nil
	case "enter":
		return f.accept()
	case "tab":
		if in != nil && completes(in) {
			in.Press(k)
			return false, nil
		}
		f.step(1)
		return false, nil
	case "down":
		f.step(1)
		return false, nil
	case "shift+tab", "up":
		f.step(-1)
		return false, nil
	}
	f.wrong = ""
	if in != nil {
		in.Press(k)
	} else if len(f.fields) > 0 {
		f.choose(k.String())
	}
	return false, nil
}

func (f *Form) focused() *input.Field {
	if len(f.inputs) == 0 {
		return nil
	}
	return f.inputs[f.focus]
}

// completes tells whether Tab would change the text rather than the focus.
func completes(in *input.Field) bool {
	found, _ := in.Candidates()
	return len(found) > 0 && in.Value() != "" && (len(found) > 1 || found[0] != in.Value())
}

func (f *Form) step(n int) {
	if len(f.fields) > 0 {
		f.focus = (f.focus + n + len(f.fields)) % len(f.fields)
	}
}

func (f *Form) choose(key string) {
	step := map[string]int{"right": 1, "space": 1, "l": 1, "left": -1, "h": -1}[key]
	ff := &f.fields[f.focus]
	at := slices.Index(ff.Choices, ff.Value)
	ff.Value = ff.Choices[(at+step+len(ff.Choices))%len(ff.Choices)]
}

// Values are what is filled in now.
func (f *Form) Values() Values {
	v := Values{}
	for i, ff := range f.fields {
		v[ff.ID] = ff.Value
		if f.inputs[i] != nil {
			v[ff.ID] = strings.TrimSpace(f.inputs[i].Value())
		}
	}
	return v
}

var errNeeded = errors.New("must be filled in")

func (f *Form) accept() (bool, Answer) {
	v := f.Values()
	for i, ff := range f.fields {
		if err := ff.validate(v[ff.ID]); err != nil {
			f.focus = i
			f.wrong = fmt.Sprintf("%s: %s", ff.Label, err)
			return false, nil
		}
	}
	return true, func() tea.Cmd { return f.submit(v) }
}

func (ff FormField) validate(value string) error {
	switch {
	case ff.Required && value == "":
		return errNeeded
	case ff.Check == nil:
		return nil
	}
	return ff.Check(value)
}

// View draws the form.
func (f *Form) View(width, height int) string {
	w := inner(width)
	var body []string
	if f.intro != "" {
		body = append(line.Wrap(line.Clean(f.intro), w), "")
	}
	label := 0
	for _, ff := range f.fields {
		label = max(label, line.Width(ff.Label))
	}
	label = min(label, w/2)
	start := len(body)
	for i, ff := range f.fields {
		body = append(body, f.fieldLine(i, ff, label, w))
	}
	f.show(start + f.focus)
	return f.view(body, f.footLines(), width, height)
}

func (f *Form) fieldLine(i int, ff FormField, label, width int) string {
	n, mark := theme.Text, " "
	if i == f.focus {
		n, mark = theme.Accent, f.th.Glyphs.Cursor
	}
	head := f.th.Paint(n, mark+" "+line.Fit(ff.Label, label, f.th.Glyphs.Ellipsis)+"  ")
	room := width - label - 4
	if room <= 0 {
		return head
	}
	return head + f.valueText(i, ff, room)
}

func (f *Form) valueText(i int, ff FormField, room int) string {
	switch {
	case f.inputs[i] != nil && i == f.focus:
		return f.inputs[i].View(room)
	case f.inputs[i] != nil:
		return f.th.Paint(theme.Text, line.Cut(line.Clean(f.inputs[i].Value()), room, f.th.Glyphs.Ellipsis))
	case ff.Bool:
		return map[string]string{"true": "[x] yes", "false": "[ ] no"}[ff.Value]
	}
	return line.Cut(fmt.Sprintf("< %s >", line.Clean(ff.Value)), room, f.th.Glyphs.Ellipsis)
}

func (f *Form) footLines() []string {
	note := ""
	if len(f.fields) > 0 {
		note = f.th.Paint(theme.Dim, f.fields[f.focus].Help)
	}
	if f.wrong != "" {
		note = f.th.Paint(theme.Crit, f.th.Glyphs.Crit+" "+line.Clean(f.wrong))
	}
	key := func(k, does string) string { return f.th.Paint(theme.Key, k) + " " + does + "   " }
	return []string{note, key("Enter", "go on") + key("Tab", "next") + key("Esc", "leave")}
}
