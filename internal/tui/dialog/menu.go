package dialog

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// Item is one line of a menu or a list of ticks.
type Item struct {
	Key   string // chooses it at once; may be empty
	Label string
	Help  string
	Off   string // why it cannot be chosen; empty: it can
	On    bool   // ticked at the start, in a list of ticks
}

// Menu asks to choose one thing, or to tick several.
type Menu struct {
	box
	items  []Item
	at     int
	many   bool
	choose func(int) tea.Cmd
	ticked func([]bool) tea.Cmd
}

// NewMenu asks to choose one item; choose gets its index.
func NewMenu(th *theme.Theme, title string, items []Item, choose func(int) tea.Cmd) *Menu {
	m := &Menu{box: box{th: th, title: title}, items: slices.Clone(items), choose: choose}
	for i, it := range items {
		if it.On { // the present choice
			m.at = i
		}
	}
	return m
}

// NewTicks asks to tick any number of items; ticked gets all of them in order.
func NewTicks(th *theme.Theme, title string, items []Item, ticked func([]bool) tea.Cmd) *Menu {
	return &Menu{box: box{th: th, title: title}, items: slices.Clone(items), many: true, ticked: ticked}
}

// Early takes the keys that only move.
func (m *Menu) Early(k tea.KeyPressMsg) bool { return moves(k.String()) != 0 }

// Paste is refused: there is no field.
func (m *Menu) Paste(string) bool { return false }

func moves(key string) int {
	return map[string]int{"j": 1, "down": 1, "tab": 1, "k": -1, "up": -1, "shift+tab": -1, "pgdown": 10, "pgup": -10}[key]
}

// Press takes a key.
func (m *Menu) Press(k tea.KeyPressMsg) (bool, Answer) {
	name := k.String()
	for i, it := range m.items {
		if it.Key != "" && it.Key == name {
			m.at = i
			return m.take()
		}
	}
	if n := moves(name); n != 0 {
		m.at = max(0, min(m.at+n, len(m.items)-1))
		return false, nil
	}
	switch name {
	case "esc", "q":
		return true, nil
	case "space":
		if m.many {
			return m.take()
		}
	case "enter":
		if m.many {
			return true, func() tea.Cmd { return m.ticked(m.ticks()) }
		}
		return m.take()
	}
	return false, nil
}

// take chooses or ticks the item under the cursor.
func (m *Menu) take() (bool, Answer) {
	if len(m.items) == 0 || m.items[m.at].Off != "" {
		return false, nil
	}
	if m.many {
		m.items[m.at].On = !m.items[m.at].On
		return false, nil
	}
	at := m.at
	return true, func() tea.Cmd { return m.choose(at) }
}

func (m *Menu) ticks() []bool {
	on := make([]bool, len(m.items))
	for i, it := range m.items {
		on[i] = it.On
	}
	return on
}

// View draws the menu.
func (m *Menu) View(width, height int) string {
	key, label := 0, 0
	for _, it := range m.items {
		key, label = max(key, line.Width(it.Key)), max(label, line.Width(line.Clean(it.Label)))
	}
	var body []string
	for i, it := range m.items {
		body = append(body, m.item(it, i == m.at, key, label, inner(width)))
	}
	m.show(m.at)
	hint := func(k, does string) string { return m.th.Paint(theme.Key, k) + " " + does + "   " }
	foot := hint("Enter", "choose") + hint("Esc", "leave")
	if m.many {
		foot = hint("space", "tick") + hint("Enter", "done") + hint("Esc", "leave")
	}
	return m.view(body, []string{foot}, width, height)
}

func (m *Menu) item(it Item, current bool, key, label, width int) string {
	mark := " "
	if current {
		mark = m.th.Glyphs.Cursor
	}
	text := mark + " "
	if m.many {
		text += map[bool]string{true: "[x] ", false: "[ ] "}[it.On]
	}
	if key > 0 {
		text += line.Fit(it.Key, key, "") + "  "
	}
	text += line.Fit(line.Clean(it.Label), label, "")
	n, help := theme.Text, it.Help
	if it.Off != "" {
		n, help = theme.Dim, "off: "+it.Off
	}
	if help != "" {
		text += "  " + line.Clean(help)
	}
	text = line.Fit(text, width, m.th.Glyphs.Ellipsis)
	if current {
		return m.th.PaintSelected(n, text)
	}
	return m.th.Paint(n, text)
}
