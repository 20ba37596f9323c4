package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// move goes n rows, lines or boards down, wherever the focus is.
func (m *Model) move(n int) tea.Cmd {
	switch {
	case m.pane.full || m.focus == onDetail:
		m.pane.offset = max(0, m.pane.offset+n)
	case m.focus == onBoards:
		m.boards.Move(n)
	default:
		m.page().Move(n)
	}
	return nil
}

func (m *Model) movePages(n int) tea.Cmd {
	switch {
	case m.pane.full || m.focus == onDetail:
		m.pane.offset = max(0, m.pane.offset+n*max(1, m.pane.height-1))
	case m.focus == onList:
		m.page().Page(n)
	}
	return nil
}

// moveEnd goes to the first or the last row.
func (m *Model) moveEnd(last bool) tea.Cmd {
	switch {
	case (m.pane.full || m.focus == onDetail) && last:
		m.pane.offset = len(m.pane.lines) // drawing clamps it
	case m.pane.full || m.focus == onDetail:
		m.pane.offset = 0
	case last:
		m.page().Bottom()
	default:
		m.page().Top()
	}
	return nil
}

// cyclePane moves the focus over what is on the screen: list, detail, boards.
func (m *Model) cyclePane(step int) tea.Cmd {
	if m.pane.full {
		return nil
	}
	panes := []focus{onList, onDetail}
	if m.boards.Len() > 0 {
		panes = append(panes, onBoards)
	}
	at := max(0, slices.Index(panes, m.focus))
	m.setFocus(panes[(at+step+len(panes))%len(panes)])
	return nil
}

func (m *Model) setFocus(f focus) {
	m.focus = f
	m.boards.Focus(f == onBoards)
}

// show goes to a page.
func (m *Model) show(i int) tea.Cmd {
	m.at = i
	m.pane.close()
	m.setFocus(onList)
	m.load()
	return nil
}

// mark marks the row and goes on to the next, so that a row of them is quick.
func (m *Model) mark(int) tea.Cmd {
	m.page().ToggleMark()
	m.page().Move(1)
	return nil
}

// back undoes the last thing that narrows the view, one a key.
func (m *Model) back(int) tea.Cmd {
	switch {
	case m.pane.full:
		m.pane.close()
	case m.focus != onList:
		m.setFocus(onList)
	case m.page().HasMarks():
		m.page().UnmarkAll()
	case m.filters[m.at] != "":
		_ = m.useFilter("") // an empty filter is always understood
	}
	return nil
}

// refresh asks every source for fresh data.
func (m *Model) refresh(int) tea.Cmd {
	m.say(theme.Info, "asking every source again")
	return m.askAgain()
}

func (m *Model) nextZone(int) tea.Cmd {
	at := 0
	for i, z := range m.zones {
		if z.Name == m.moment.Zone.Name {
			at = i
		}
	}
	m.moment.Zone = m.zones[(at+1)%len(m.zones)]
	m.say(theme.Info, "times are shown in the zone "+m.moment.Zone.Name)
	return m.savePrefs()
}
