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
type pane struct {
	off    bool // not shown beside the list
	full   bool // it has the whole screen, without borders
	offset int
	height int // lines drawn last
	lines  int // lines there were

	text  *text // instead of the row's detail: a job's output, the audit log
	extra *text // fetched for the row beyond what the snapshot has
}

// text is what was fetched for the pane.
type text struct {
	title    string
	subject  fleet.Subject
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
	m.pane.full, m.pane.offset = true, 0
	m.pane.extra = &text{subject: it.Subject}
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
	it, ok := m.page().Selected()
	if !ok {
		return "detail"
	}
	return line.Clean(string(it.Subject.Kind) + " " + it.Subject.Name)
}

// doc is what the pane shows now.
func (m *Model) doc() detail.Doc {
	if m.pane.text != nil {
		return m.pane.text.doc(nil)
	}
	it, ok := m.page().Selected()
	if m.snap == nil || !ok {
		return nil
	}
	d := describe(m.snap, it, *m.moment)
	if x := m.pane.extra; x != nil && x.subject == it.Subject {
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
	}
	return nil
}

// paneView draws the pane in width x height cells.
func (m *Model) paneView(width, height int) string {
	inner := max(1, width-2)
	lines := m.doc().Render(m.th, inner)
	if len(lines) == 0 {
		lines = []string{m.th.Paint(theme.Dim, line.Cut("nothing selected", inner, ""))}
	}
	m.pane.lines, m.pane.height = len(lines), height
	m.pane.offset = max(0, min(m.pane.offset, len(lines)-height))
	shown := lines[m.pane.offset:min(len(lines), m.pane.offset+height)]
	for i := range shown {
		shown[i] = " " + shown[i]
	}
	return line.Block(shown, width, height)
}

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
	if below := m.pane.lines - m.pane.offset - m.pane.height; below > 0 {
		text += m.th.Paint(theme.Dim, "  more below: PgDn")
	}
	return line.Fit(text, m.width, "")
}
