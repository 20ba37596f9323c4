package keys

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// keyNames are the spellings for people, where they differ.
var keyNames = map[string]string{
	"pgup": "PgUp", "pgdown": "PgDn", "enter": "Enter", "esc": "Esc", "tab": "Tab",
	"shift+tab": "Shift-Tab", "home": "Home", "end": "End",
}

// keyName is the spelling of a key for people: "ctrl+l" is Ctrl-L.
func keyName(key string) string {
	if name, ok := keyNames[key]; ok {
		return name
	}
	if letter, ok := strings.CutPrefix(key, "ctrl+"); ok {
		return "Ctrl-" + strings.ToUpper(letter)
	}
	return key
}

// label spells all keys of a binding: "j, down".
func (b Binding[C]) label() string {
	names := make([]string, len(b.Keys))
	for i, k := range b.Keys {
		names[i] = keyName(k)
	}
	return strings.Join(names, ", ")
}

// Footer is one line of exactly width cells: the keys most worth knowing here,
// then, where there is room, those that are off with the reason in brackets.
func (t *Table[C]) Footer(th *theme.Theme, scope Scope, ctx C, width int) string {
	var on, off []Binding[C]
	for _, b := range t.in(scope) {
		switch {
		case b.Rank == 0:
		case b.Off(ctx) == "":
			on = append(on, b)
		default:
			off = append(off, b)
		}
	}
	const sep = "  "
	room := width - 1
	var text strings.Builder
	text.WriteString(" ")
	for _, b := range fitting(on, room, len(sep)) {
		text.WriteString(th.Paint(theme.Key, keyName(b.Keys[0])) + " " + th.Paint(theme.Text, b.Help) + sep)
		room -= footerWidth(b) + len(sep)
	}
	for _, s := range reasons(off, ctx) {
		if line.Width(s) > room {
			continue
		}
		text.WriteString(th.Paint(theme.Dim, s) + sep)
		room -= line.Width(s) + len(sep)
	}
	return line.Fit(text.String(), width, "")
}

func footerWidth[C any](b Binding[C]) int {
	return line.Width(keyName(b.Keys[0])) + 1 + line.Width(b.Help)
}

// fitting keeps the bindings of the lowest ranks that fit into width together, in
// the order given.
func fitting[C any](rows []Binding[C], width, sep int) []Binding[C] {
	byRank := slices.Clone(rows)
	slices.SortStableFunc(byRank, func(a, b Binding[C]) int { return a.Rank - b.Rank })
	keep := map[ID]bool{}
	for _, b := range byRank {
		if w := footerWidth(b); w <= width {
			keep[b.ID] = true
			width -= w + sep
		}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(b Binding[C]) bool { return !keep[b.ID] })
}

// reasons words what is off; bindings that are off for one reason share it.
func reasons[C any](off []Binding[C], ctx C) []string {
	var order []string
	names := map[string][]string{}
	slices.SortStableFunc(off, func(a, b Binding[C]) int { return a.Rank - b.Rank })
	for _, b := range off {
		why := line.Clean(b.Off(ctx))
		if len(names[why]) == 0 {
			order = append(order, why)
		}
		names[why] = append(names[why], b.Help)
	}
	for i, why := range order {
		order[i] = fmt.Sprintf("[%s: %s]", strings.Join(names[why], ", "), why)
	}
	return order
}

// Help is the text of the help overlay, each line at most width cells.
func (t *Table[C]) Help(th *theme.Theme, scope Scope, ctx C, width int) []string {
	rows := t.in(scope)
	label := 0
	for _, b := range rows {
		label = max(label, line.Width(b.label()))
	}
	label = min(label, width/2)
	var lines []string
	for _, section := range sections(rows) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, th.Paint(theme.Title, line.Cut(section, width, th.Glyphs.Ellipsis)))
		for _, b := range rows {
			if b.Section == section {
				lines = append(lines, helpLine(th, b, b.Off(ctx), label, width))
			}
		}
	}
	return lines
}

func helpLine[C any](th *theme.Theme, b Binding[C], off string, label, width int) string {
	key, text := theme.Key, theme.Text
	long := b.Long
	if off != "" {
		key, text = theme.Dim, theme.Dim
		long += " [off: " + line.Clean(off) + "]"
	}
	tail := th.Glyphs.Ellipsis
	return th.Paint(key, line.Fit(b.label(), label, tail)) + "  " + th.Paint(text, line.Cut(long, width-label-2, tail))
}

func sections[C any](rows []Binding[C]) []string {
	var names []string
	for _, b := range rows {
		if !slices.Contains(names, b.Section) {
			names = append(names, b.Section)
		}
	}
	return names
}

// Markdown writes the table for the documentation.
func (t *Table[C]) Markdown(w io.Writer) error {
	var b strings.Builder
	for _, section := range sections(t.rows) {
		fmt.Fprintf(&b, "### %s\n\n| Key | What it does |\n|---|---|\n", section)
		for _, row := range t.rows {
			if row.Section == section {
				fmt.Fprintf(&b, "| %s | %s |\n", markdownKeys(row.Keys), row.sentence())
			}
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}

func (b Binding[C]) sentence() string {
	s := b.Long
	if len(b.Scopes) > 0 {
		var names []string
		for _, sc := range b.Scopes {
			names = append(names, string(sc))
		}
		s += " (" + strings.Join(names, ", ") + ")"
	}
	if b.Dangerous {
		s += " **(plan shown first)**"
	}
	return strings.ReplaceAll(s, "|", `\|`)
}

func markdownKeys(keys []string) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = "`" + strings.ReplaceAll(keyName(k), "|", `\|`) + "`"
	}
	return strings.Join(names, " ")
}
