package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// wide is from how many columns on the detail pane stands beside the list.
const wide = 120

// layout is how the lines and columns of the screen are shared out.
type layout struct {
	header, fleet, tabs, status, footer int // lines: 0 or 1
	body, boards                        int // lines
	list, side                          int // columns of the body; side 0: no pane beside
}

// layout shares out the screen: complete from 80x24 on, reduced below.
func (m *Model) layout() layout {
	l := layout{list: m.width}
	switch h := m.height; {
	case h >= 14:
		l.header, l.fleet, l.tabs, l.status, l.footer = 1, 1, 1, 1, 1
	case h >= 8:
		l.header, l.tabs, l.status, l.footer = 1, 1, 1, 1
	case h >= 4:
		l.header, l.status = 1, 1
	}
	l.body = m.height - l.header - l.fleet - l.tabs - l.status - l.footer
	l.boards = m.boardLines(l.body)
	l.body -= l.boards
	if m.width >= wide && !m.pane.off {
		l.side = min(80, m.width*3/8)
		l.list = m.width - l.side - 1
	}
	return l
}

// View draws the screen. It is pure: everything shown is part of the model.
func (m *Model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	v.WindowTitle = "gpuctl"
	v.BackgroundColor = m.th.Background
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

// screen is width x height cells exactly; a terminal that says 0x0 is waited for.
func (m *Model) screen() string {
	if m.width <= 0 || m.height <= 0 {
		return ""
	}
	text := m.frame()
	if m.prompt {
		h := min(m.palette.Height(), m.height)
		text = line.Over(text, m.palette.View(m.width, h), 0, m.height-h)
	}
	return m.dialogs.View(text, m.width, m.height)
}

func (m *Model) frame() string {
	if m.pane.full {
		return m.fullPane()
	}
	l := m.layout()
	var parts []string
	add := func(n int, draw func(width int) string) {
		if n > 0 {
			parts = append(parts, draw(m.width))
		}
	}
	add(l.header, m.header)
	add(l.fleet, m.fleetLine)
	add(l.tabs, func(int) string { return m.tabLine(l) })
	add(l.body, func(int) string { return m.body(l) })
	add(l.boards, func(w int) string { return m.boardView(w, l.boards) })
	add(l.status, func(int) string { return m.statusLine(l) })
	add(l.footer, func(w int) string { return m.keys.Footer(m.th, m.scope(), m, w) })
	return strings.Join(parts, "\n")
}

// body is the list, the pane, or both side by side.
func (m *Model) body(l layout) string {
	switch {
	case l.side == 0 && m.focus == onDetail:
		return m.paneView(m.width, l.body)
	case l.side == 0:
		return m.page().View(l.list, l.body)
	}
	left := strings.Split(m.page().View(l.list, l.body), "\n")
	right := strings.Split(m.paneView(l.side, l.body), "\n")
	divider := m.th.Paint(theme.Border, m.th.Glyphs.Vertical)
	for i := range left {
		left[i] += divider + right[i]
	}
	return strings.Join(left, "\n")
}
