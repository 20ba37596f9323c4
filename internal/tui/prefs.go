package tui

import (
	"fmt"
	"maps"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// prefsMsg says whether preferences could be kept.
type prefsMsg struct{ err error }

// applyPrefs uses what was kept from last time. What no longer exists is ignored.
func (m *Model) applyPrefs() {
	for _, p := range m.pages {
		if p == nil {
			continue
		}
		if hidden, ok := m.opt.Prefs.Columns[p.Name()]; ok {
			p.Hide(hidden)
		}
		p.SetSort(m.opt.Prefs.Sort[p.Name()])
	}
	m.moment.Zone.Name = orUTC(m.opt.Prefs.Zone)
}

func orUTC(name string) string {
	if name == "" {
		return "utc"
	}
	return name
}

// prefs is what is set now.
func (m *Model) prefs() Prefs {
	p := Prefs{Theme: m.opt.Prefs.Theme, Zone: m.moment.Zone.Name, Mouse: m.mouse, Columns: map[string][]string{}, Sort: map[string]string{}}
	maps.Copy(p.Columns, m.opt.Prefs.Columns)
	for _, pg := range m.pages {
		if pg == nil {
			continue
		}
		p.Columns[pg.Name()] = pg.Hidden()
		if s := pg.Sort(); s != "" {
			p.Sort[pg.Name()] = s
		}
	}
	return p
}

// savePrefs keeps what is set now.
func (m *Model) savePrefs() tea.Cmd {
	if m.opt.SavePrefs == nil {
		return nil
	}
	p := m.prefs()
	return func() tea.Msg { return prefsMsg{m.opt.SavePrefs(p)} }
}

// prefsSaved tells when they could not be kept; the console works all the same.
func (m *Model) prefsSaved(msg prefsMsg) tea.Cmd {
	if msg.err != nil {
		m.say(theme.Warn, fmt.Sprintf("this setting is not kept for next time: %v", msg.err))
	}
	return nil
}

// useTheme changes the look of everything at once.
func (m *Model) useTheme(name string) error {
	opt := m.opt
	opt.Prefs.Theme = name
	th, err := loadTheme(opt)
	if err != nil {
		return err
	}
	*m.th = *th
	m.opt.Prefs.Theme = name
	return nil
}
