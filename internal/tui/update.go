package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/page"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// snapshotMsg brings the newest snapshot; open is false when no more will come.
type snapshotMsg struct {
	snap *fleet.Snapshot
	open bool
}

// tickMsg moves the clock of the screen.
type tickMsg struct{ now time.Time }

// Init starts what runs for the whole life of the console.
func (m *Model) Init() tea.Cmd { return tea.Batch(m.waitSnapshot(), m.tick()) }

func (m *Model) waitSnapshot() tea.Cmd {
	return func() tea.Msg {
		select {
		case s, ok := <-m.opt.Snapshots:
			return snapshotMsg{s, ok}
		case <-m.ctx.Done():
			return nil
		}
	}
}

func (m *Model) tick() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{m.opt.Clock()} })
}

// Update takes one message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.forget()
	cmd := m.handle(msg)
	m.forget()
	return m, tea.Batch(cmd, m.follow())
}

// forget drops what is worked out from the selection at most once between changes.
func (m *Model) forget() {
	clear(m.offs)
	m.chosen = nil
}

// handle names things; the work is done elsewhere.
func (m *Model) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case tea.MouseClickMsg:
		return m.click(tea.Mouse(msg))
	case tea.MouseWheelMsg:
		return m.wheel(tea.Mouse(msg))
	case snapshotMsg:
		return m.take(msg)
	case tickMsg:
		m.setNow(msg.now)
		return m.tick()
	case planMsg:
		return m.planned(msg)
	case startedMsg:
		return m.started(msg)
	case eventMsg:
		return m.happened(msg)
	case layoutMsg:
		return m.planLayout(msg)
	case layoutPlanMsg:
		return m.layoutPlanned(msg)
	case sectionsMsg:
		return m.fetched(msg)
	case prefsMsg:
		return m.prefsSaved(msg)
	}
	return nil
}

func (m *Model) setNow(now time.Time) {
	m.moment.Now = now
	m.boards.Tick(now)
	m.page().SetEmpty(m.emptyText())
	if m.notice.text != "" && now.After(m.notice.until) {
		m.notice = notice{}
	}
}

// take shows a snapshot. Only the page on screen is loaded; the others are when
// they are looked at.
func (m *Model) take(msg snapshotMsg) tea.Cmd {
	if !msg.open {
		return nil
	}
	m.setNow(m.opt.Clock())
	m.snap = msg.snap
	m.tallies, m.demand = page.Tallies(m.snap), page.Waiting(m.snap)
	m.countGPUs()
	m.past.Feed(m.snap)
	m.setZones()
	m.load()
	return m.waitSnapshot()
}

// load brings the page on screen up to date.
func (m *Model) load() {
	p := m.page()
	if m.snap != nil {
		p.Load(m.snap)
	}
	p.SetEmpty(m.emptyText())
}

// setZones keeps the chosen zone when the clusters change.
func (m *Model) setZones() {
	m.zones = words.Zones(m.snap.Clusters)
	m.useZone(m.moment.Zone.Name)
}

func (m *Model) useZone(name string) bool {
	for _, z := range m.zones {
		if z.Name == name {
			m.moment.Zone = z
			return true
		}
	}
	return false
}

// page is the page on screen.
func (m *Model) page() page.Page { return m.pages[m.at] }

// say shows a notice.
func (m *Model) say(tone theme.Name, text string) {
	m.notice = notice{text: text, tone: tone, until: m.moment.Now.Add(noticeLife)}
}
