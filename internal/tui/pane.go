package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/detail"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/page"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// pane is the detail of the row under the cursor, or a text that was asked for.
//
// Beside the list it follows the cursor at once, but not while a key is held: then
// drawing both sides for every row would be most of what a slow line carries.
type pane struct {
	off    bool // not shown beside the list
	full   bool // it has the whole screen, without borders
	offset int
	height int // lines drawn last

	item, next page.Item // shown, and where the cursor is
	moved      time.Time // when the cursor came to next

	text  *text // instead of the row's detail: a job's output, the audit log
	extra *text // fetched for the row beyond what the snapshot has

	drawn paneKey
	lines []string // as drawn last
}

// paneKey is everything that the lines of a pane depend on.
type paneKey struct {
	snap  *fleet.Snapshot
	item  page.Item
	at    words.Moment
	width int
	theme string
	text  *text
	extra *text
	wait  bool
}

// rest is how long the cursor must rest while a key is held.
const rest = 150 * time.Millisecond

// restedMsg says that the cursor may have come to rest.
type restedMsg struct{}

// follow lets the pane show what is under the cursor.
func (m *Model) follow() tea.Cmd {
	it, _ := m.page().Selected()
	p := &m.pane
	switch now := m.opt.Clock(); {
	case p.text != nil || same(it, p.item):
		p.item, p.next = it, it // the pointers are those of the newest snapshot
	case !same(it, p.next):
		held := now.Sub(p.moved) < rest
		p.next, p.moved = it, now
		if held {
			return tea.Tick(rest, func(time.Time) tea.Msg { return restedMsg{} })
		}
		p.turn(it)
	case now.Sub(p.moved) >= rest:
		p.turn(it)
	}
	return nil
}

func (p *pane) turn(it page.Item) {
	p.item, p.next, p.offset = it, it, 0
}

// same tells whether two items are the same row, whatever snapshot they are of.
func same(a, b page.Item) bool {
	if (a.Event == nil) != (b.Event == nil) || (a.Finding == nil) != (b.Finding == nil) {
		return false
	}
	switch {
	case a.Event != nil:
		return *a.Event == *b.Event
	case a.Finding != nil:
		return a.Finding.ID == b.Finding.ID
	}
	return a.Subject.Kind == b.Subject.Kind && a.Subject.Name == b.Subject.Name && a.Job == b.Job
}

// text is what was fetched for the pane.
type text struct {
	title    string
	of       page.Item
	sections []Section
	wait     bool // it is on the way
	err      error
}

// sectionsMsg brings a text that was asked for.
type sectionsMsg struct {
	into     *text
	sections []Section
	err      error
}

func (p *pane) close() {
	p.full, p.offset, p.text, p.extra = false, 0, nil, nil
	p.moved = time.Time{} // another page is not a held key
}

// fetchPatience is how long a text may take.
const fetchPatience = 20 * time.Second

// fetch asks for a text and fills it in when it comes.
func (m *Model) fetch(t *text, ask func(context.Context) ([]Section, error)) tea.Cmd {
	t.wait = true
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, fetchPatience)
		defer cancel()
		sections, err := ask(ctx)
		return sectionsMsg{t, sections, err}
	}
}

func (m *Model) fetched(msg sectionsMsg) tea.Cmd {
	msg.into.wait, msg.into.sections, msg.into.err = false, msg.sections, msg.err
	return nil
}

// openDetail gives the pane the whole screen and asks for what the poll does not
// carry.
func (m *Model) openDetail(int) tea.Cmd {
	if m.pane.full {
		return nil
	}
	it, ok := m.page().Selected()
	if !ok {
		return nil
	}
	m.pane.turn(it)
	m.pane.full = true
	m.pane.extra = &text{of: it}
	switch it.Subject.Kind {
	case fleet.KindJob:
		if m.opt.JobDetail != nil {
			return m.fetch(m.pane.extra, func(ctx context.Context) ([]Section, error) { return m.opt.JobDetail(ctx, it.Job) })
		}
	case fleet.KindNode:
		if m.opt.NodeDetail != nil {
			return m.fetch(m.pane.extra, func(ctx context.Context) ([]Section, error) {
				return m.opt.NodeDetail(ctx, it.Subject.Cluster, it.Subject.Name)
			})
		}
	}
	return nil
}

// jobLog shows the end of the job's output.
func (m *Model) jobLog(int) tea.Cmd {
	it, _ := m.page().Selected()
	return m.openText("output of job "+it.Subject.Name, func(ctx context.Context) ([]Section, error) { return m.opt.JobLog(ctx, it.Job) })
}

// audit shows who did what.
func (m *Model) audit(int) tea.Cmd { return m.openText("audit log", m.opt.Audit) }

func (m *Model) openText(title string, ask func(context.Context) ([]Section, error)) tea.Cmd {
	m.pane.text = &text{title: title}
	m.pane.full, m.pane.offset = true, 0
	return m.fetch(m.pane.text, ask)
}

// paneTitle names what the pane shows.
func (m *Model) paneTitle() string {
	if m.pane.text != nil {
		return m.pane.text.title
	}
	it := m.pane.item
	if it.Subject.Name == "" {
		return "detail"
	}
	if it.Subject.Kind == fleet.KindGPU {
		return m.gpuTitle(it)
	}
	return line.Clean(string(it.Subject.Kind) + " " + it.Subject.Name)
}

// doc is what the pane shows now.
func (m *Model) doc() detail.Doc {
	if m.pane.text != nil {
		return m.pane.text.doc(nil)
	}
	it := m.pane.item
	if m.snap == nil || it.Subject.Name == "" {
		return nil
	}
	d := describe(m.snap, it, *m.moment)
	if x := m.pane.extra; x != nil && same(x.of, it) {
		d = x.doc(d)
	}
	return d
}

// doc adds a fetched text to a document.
func (t *text) doc(d detail.Doc) detail.Doc {
	switch {
	case t.wait:
		d.Block("asking for more", "it has not answered yet")
	case t.err != nil:
		d.Block("more could not be fetched", t.err.Error())
	}
	for _, s := range t.sections {
		d.Block(s.Title, s.Text)
	}
	return d
}

// describe writes the document of an item.
func describe(s *fleet.Snapshot, it page.Item, at words.Moment) detail.Doc {
	switch {
	case it.Event != nil:
		return detail.Event(s, it.Event, at)
	case it.Finding != nil:
		return detail.Finding(s, it.Finding, at)
	case it.Subject.Kind == fleet.KindNode:
		if n := s.Node(it.Subject.Name); n != nil {
			return detail.Node(s, n, at)
		}
	case it.Subject.Kind == fleet.KindJob:
		if j := s.Job(it.Job); j != nil {
			return detail.Job(s, j, at)
		}
	case it.Subject.Kind == fleet.KindGPU:
		return describeGPU(s, it, at)
	}
	return nil
}

// paneView draws the pane in width x height cells.
func (m *Model) paneView(width, height int) string {
	p := &m.pane
	m.layPane(max(1, width-2))
	p.height = height
	p.offset = max(0, min(p.offset, len(p.lines)-height))
	shown := make([]string, 0, height)
	for _, l := range p.lines[p.offset:min(len(p.lines), p.offset+height)] {
		shown = append(shown, " "+l)
	}
	return line.Block(shown, width, height)
}

// layPane lays the document out, unless nothing it depends on has changed.
func (m *Model) layPane(width int) {
	p := &m.pane
	key := paneKey{m.snap, p.item, *m.moment, width, m.th.Title, p.text, p.extra, p.waiting()}
	if key == p.drawn && p.lines != nil {
		return
	}
	p.drawn = key
	p.lines = m.doc().Render(m.th, width)
	if len(p.lines) == 0 {
		p.lines = []string{m.th.Paint(theme.Dim, line.Cut("nothing selected", width, ""))}
	}
}

func (p *pane) waiting() bool { return p.text != nil && p.text.wait || p.extra != nil && p.extra.wait }

// fullPane is the pane on the whole screen, without borders: a title, the text,
// and the keys.
func (m *Model) fullPane() string {
	rows := []string{}
	height := m.height
	if height >= 4 {
		at := m.moment.Zone.Clock(m.moment.Now)
		title := line.Fit(" "+m.paneTitle(), max(0, m.width-line.Width(at)-1), m.th.Glyphs.Ellipsis)
		rows = append(rows, m.th.Paint(theme.Title, line.Fit(title+at, m.width, "")))
		height -= 2
	}
	rows = append(rows, m.paneView(m.width, height))
	if m.height >= 4 {
		rows = append(rows, m.fullFooter())
	}
	return strings.Join(rows, "\n")
}

// fullFooter says how to leave, and how much text there is above and below.
func (m *Model) fullFooter() string {
	if m.notice.text != "" {
		return m.th.Paint(m.notice.tone, line.Fit(" "+line.Clean(m.notice.text), m.width, m.th.Glyphs.Ellipsis))
	}
	text := " " + m.th.Paint(theme.Key, "Esc") + " back  " + m.th.Paint(theme.Key, "y") + " copy name  " + m.th.Paint(theme.Key, "Y") + " copy text"
	if below := len(m.pane.lines) - m.pane.offset - m.pane.height; below > 0 {
		text += m.th.Paint(theme.Dim, "  more below: PgDn")
	}
	return line.Fit(text, m.width, "")
}
