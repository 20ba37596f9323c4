package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/detail"
	"github.com/gpuctl/gpuctl/internal/tui/dialog"
	"github.com/gpuctl/gpuctl/internal/tui/page"
	"github.com/gpuctl/gpuctl/internal/tui/table"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// help shows every key, and why those that are off are off.
func (m *Model) help(int) tea.Cmd {
	return m.open(dialog.NewMessage(m.th, "Keys", func(width int) []string {
		lines := m.keys.Help(m.th, m.scope(), m, width)
		return append(lines, "", m.th.Paint(theme.Dim, "A count goes before a key, from 7 on or after a 0: 9j, 012j."))
	}))
}

// chooseSort asks for the column to sort by; the present one is turned round.
func (m *Model) chooseSort(int) tea.Cmd {
	p := m.page()
	var cols []table.Choice
	var items []dialog.Item
	for _, c := range p.Choices() {
		if c.Sortable {
			cols = append(cols, c)
			items = append(items, dialog.Item{Label: c.Title, Help: sortHelp(p, c), On: strings.TrimPrefix(p.Sort(), "-") == c.ID})
		}
	}
	items = append(items, dialog.Item{Label: "as it comes", Help: "the page's own order"})
	return m.open(dialog.NewMenu(m.th, "Sort "+p.Name()+" by", items, func(i int) tea.Cmd {
		switch {
		case i == len(cols):
			p.SetSort("")
		case strings.TrimPrefix(p.Sort(), "-") == cols[i].ID:
			p.Reverse()
		default:
			p.SetSort(cols[i].ID)
		}
		return m.savePrefs()
	}))
}

func sortHelp(p page.Page, c table.Choice) string {
	switch p.Sort() {
	case c.ID:
		return "sorted by; chosen again: the other way round"
	case "-" + c.ID:
		return "sorted by, from the largest; chosen again: the other way round"
	}
	return ""
}

// chooseColumns asks which columns to show.
func (m *Model) chooseColumns(int) tea.Cmd {
	p := m.page()
	choices := p.Choices()
	items := make([]dialog.Item, len(choices))
	for i, c := range choices {
		items[i] = dialog.Item{Label: c.Title, On: c.Shown}
		if c.Fixed {
			items[i].Off = "always shown"
		}
	}
	return m.open(dialog.NewTicks(m.th, "Columns of "+p.Name(), items, func(on []bool) tea.Cmd {
		var hidden []string
		for i, c := range choices {
			if !on[i] && !c.Fixed {
				hidden = append(hidden, c.ID)
			}
		}
		p.Hide(hidden)
		return m.savePrefs()
	}))
}

// copyNames copies the name of the row, or of all marked ones, a line each.
func (m *Model) copyNames(int) tea.Cmd { return m.copyText(strings.Join(m.names(), "\n")) }

// copyRow copies the marked names as one host list, or what is known of the row.
func (m *Model) copyRow(int) tea.Cmd {
	if m.pane.full {
		return m.copyText(m.doc().Plain())
	}
	if items := m.page().Targets(); len(items) > 1 || m.page().HasMarks() {
		if items[0].Subject.Kind == fleet.KindNode {
			return m.copyText(fleet.FoldHosts(m.names()))
		}
		return m.copyText(strings.Join(m.names(), ","))
	}
	return m.copyText(m.rowText())
}

func (m *Model) names() []string {
	var names []string
	for _, it := range m.page().Targets() {
		names = append(names, it.Subject.Name)
	}
	return names
}

// rowText is the row under the cursor on one line.
func (m *Model) rowText() string {
	it, ok := m.page().Selected()
	if !ok || m.snap == nil {
		return ""
	}
	switch {
	case it.Finding != nil:
		return strings.Join([]string{it.Finding.Severity.String(), it.Finding.Title, it.Finding.Advice}, "\t")
	case it.Event != nil:
		return strings.Join([]string{m.moment.Zone.Stamp(it.Event.At), it.Subject.Name, detail.Change(it.Event)}, "\t")
	case it.Subject.Kind == fleet.KindNode:
		if n := m.snap.Node(it.Subject.Name); n != nil {
			return strings.Join([]string{n.Name, words.NodeState(n), page.Reason(n).Text}, "\t")
		}
	case it.Subject.Kind == fleet.KindGPU:
		if n := m.snap.Node(it.Node); n != nil && n.GPU(it.Subject.Name) != nil {
			g := n.GPU(it.Subject.Name)
			return strings.Join([]string{words.GPUName(g), g.UUID, words.GPUState(g), words.GPUOwner(n, g), words.Faults(g)}, "\t")
		}
	case it.Subject.Kind == fleet.KindJob:
		if j := m.snap.Job(it.Job); j != nil {
			return strings.Join([]string{j.ID, j.Name, j.User, words.JobState(j), fleet.FoldHosts(j.Nodes)}, "\t")
		}
	}
	return it.Subject.Name
}

// copyText hands text to the terminal's clipboard. The terminal does not answer,
// so the notice says how it was sent, not that it arrived.
func (m *Model) copyText(text string) tea.Cmd {
	what := text
	if n := strings.Count(text, "\n"); n > 0 {
		what = words.Plural(n+1, "line")
	}
	m.say(theme.Info, "sent to the terminal's clipboard (OSC 52): "+what)
	return tea.SetClipboard(text)
}

// sources shows every connection in full.
func (m *Model) sources() tea.Cmd {
	if m.snap == nil {
		return nil
	}
	doc := detail.Sources(m.snap, *m.moment)
	return m.open(dialog.NewMessage(m.th, "Sources", func(width int) []string { return doc.Render(m.th, width) }))
}
