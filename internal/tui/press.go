package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/tui/dialog"
	"github.com/gpuctl/gpuctl/internal/tui/input"
	"github.com/gpuctl/gpuctl/internal/tui/keys"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// press gives a key to whatever has the focus. A field or a dialog takes every key,
// so that nothing typed into it acts as a command.
func (m *Model) press(k tea.KeyPressMsg) tea.Cmd {
	switch {
	case m.dialogs.Top() != nil:
		return m.pressDialog(k)
	case m.prompt:
		return m.pressPrompt(k)
	case m.field != nil:
		return m.pressFilter(k)
	}
	if m.digit(k.String()) {
		return nil
	}
	m.counting = false
	b, ok := m.keys.Find(m.scope(), k.String())
	if !ok {
		m.count = 0
		return nil
	}
	return m.perform(b.ID)
}

// perform does what a binding is for, or says why it cannot be done.
func (m *Model) perform(id keys.ID) tea.Cmd {
	n := max(1, m.count)
	m.count = 0
	if why := m.off(id); why != "" {
		b, _ := m.keys.Get(id)
		m.say(theme.Warn, b.Help+" is off: "+why)
		return nil
	}
	m.notice = notice{}
	return m.do[id](n)
}

// pressDialog gives a key to the open dialog. Ctrl-C leaves it, as Esc does.
func (m *Model) pressDialog(k tea.KeyPressMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		m.dialogs.Close()
		return nil
	}
	cmd := m.dialogs.Press(k, m.opt.Clock())
	return tea.Batch(cmd, m.askLayout())
}

// maxCount keeps a count typed by mistake from walking for ever.
const maxCount = 100_000

// digit collects a count. Digits that are pages start none: a count is 7, 8, 9 or 0
// first, and any digits after it: 012 is twelve.
func (m *Model) digit(key string) bool {
	if len(key) != 1 || key[0] < '0' || key[0] > '9' {
		return false
	}
	n := int(key[0] - '0')
	if m.count == 0 && !m.counting && n >= 1 && n <= len(keys.PageNames) {
		return false
	}
	m.counting = true
	m.count = min(maxCount, m.count*10+n)
	return true
}

// scope is the part of the console that keys are for now.
func (m *Model) scope() keys.Scope {
	if m.focus == onBoards {
		return keys.Board
	}
	return ""
}

// open puts a dialog on the screen.
func (m *Model) open(d dialog.Dialog) tea.Cmd {
	m.dialogs.Open(d, m.opt.Clock())
	return nil
}

// paste goes to the field that has the focus. Elsewhere it is ignored: pasted text
// must never act as keys.
func (m *Model) paste(text string) tea.Cmd {
	switch {
	case m.dialogs.Top() != nil:
		if m.dialogs.Paste(text) {
			return nil
		}
	case m.prompt:
		m.palette.Paste(text)
		return nil
	case m.field != nil:
		m.field.Paste(text)
		m.filterNow(m.field.Value())
		return nil
	}
	m.say(theme.Warn, "pasted text is ignored here: / filters, : takes commands")
	return nil
}

// startFilter opens the filter of the page, with what it is now.
func (m *Model) startFilter(int) tea.Cmd {
	m.field = input.New(m.th, "/")
	m.field.Placeholder = "state:drain  user==alice  free>=4  !cluster:lab  or any text"
	m.field.Complete = m.completeFilter
	m.field.SetHistory(m.history)
	m.field.SetValue(m.filters[m.at])
	return nil
}

// completeFilter offers the fields of the page for the word being typed.
func (m *Model) completeFilter(text string) []string {
	cut := strings.LastIndexAny(text, " (!") + 1
	before, word := text[:cut], text[cut:]
	if word == "" && text != "" || strings.ContainsAny(word, ":=<>~") {
		return nil
	}
	var found []string
	for _, f := range m.page().Fields() {
		if strings.HasPrefix(f.Name, strings.ToLower(word)) {
			found = append(found, before+f.Name+":")
		}
	}
	return found
}

func (m *Model) pressFilter(k tea.KeyPressMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		m.endFilter("")
		return nil
	}
	switch m.field.Press(k) {
	case input.Edited:
		m.filterNow(m.field.Value())
	case input.Submitted:
		m.field.Remember()
		m.history = m.field.History()
		m.endFilter(m.field.Value())
	case input.Cancelled:
		m.endFilter("")
	}
	return nil
}

// filterNow narrows the list while one types. A filter that is not finished shows
// all rows.
func (m *Model) filterNow(text string) {
	if m.page().Understands(text) != nil {
		text = ""
	}
	_ = m.useFilter(text) // it is understood
}

// useFilter filters the page and remembers what with.
func (m *Model) useFilter(text string) error {
	err := m.page().Filter(text)
	m.filters[m.at] = text
	if !m.page().Filtered() {
		m.filters[m.at] = ""
	}
	m.page().SetEmpty(m.emptyText())
	return err
}

// endFilter closes the field and says when the text was not understood.
func (m *Model) endFilter(text string) {
	m.field = nil
	err := m.useFilter(strings.TrimSpace(text))
	if _, ok := m.page().Selected(); !ok {
		m.page().Top() // the operator took the row away, not the fleet
	}
	switch {
	case err != nil && m.page().Filtered():
		m.say(theme.Warn, "taken as plain text: "+err.Error())
	case err != nil:
		m.say(theme.Warn, "all rows are shown: "+err.Error())
	}
}

// click puts the cursor where the mouse is.
func (m *Model) click(at tea.Mouse) tea.Cmd {
	l := m.layout()
	top := l.header + l.fleet + l.tabs
	if m.dialogs.Top() != nil || m.prompt || m.pane.full || at.X >= l.list || at.Y < top || at.Y >= top+l.body {
		return nil
	}
	m.focus = onList
	m.page().SelectLine(at.Y - top)
	return nil
}

// wheelLines is how far one notch of the wheel goes.
const wheelLines = 3

func (m *Model) wheel(at tea.Mouse) tea.Cmd {
	if m.dialogs.Top() != nil || m.prompt {
		return nil
	}
	n := wheelLines
	if at.Button == tea.MouseWheelUp {
		n = -n
	}
	m.move(n)
	return nil
}
