package tui

import (
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/keys"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// tabLine is the rule above the list: the pages with their counts, and the title
// of the pane beside.
func (m *Model) tabLine(l layout) string {
	var tabs string
	for brief := range 3 {
		tabs = m.tabs(brief)
		if line.Width(tabs) <= l.list {
			break
		}
	}
	left := m.rule(tabs, l.list)
	if l.side == 0 {
		return left
	}
	style := theme.Title
	if m.focus == onDetail {
		style = theme.Accent
	}
	title := " " + line.Cut(m.paneTitle(), l.side-4, m.th.Glyphs.Ellipsis) + " "
	right := m.rule(m.th.Paint(theme.Border, m.th.Glyphs.Horizontal)+m.th.Paint(style, title), l.side)
	return left + m.th.Paint(theme.Border, m.th.Glyphs.TeeDown) + right
}

// tabs lists the pages; brief 1 counts only the one on screen, 2 has digits only.
func (m *Model) tabs(brief int) string {
	var b strings.Builder
	dash := m.th.Paint(theme.Border, m.th.Glyphs.Horizontal)
	for i, name := range keys.PageNames {
		text := fmt.Sprintf(" %d %s ", i+1, name)
		if brief == 2 && i != m.at {
			text = fmt.Sprintf(" %d ", i+1)
		}
		if n, ok := m.pageCount(i); ok && (brief == 0 || i == m.at) {
			text += words.Count(n) + " "
		}
		b.WriteString(dash + m.th.Paint(m.tabTone(i), text))
	}
	return b.String()
}

func (m *Model) tabTone(i int) theme.Name {
	switch {
	case i == m.at:
		return theme.Selection
	case i == gpuPage && m.off(keys.Page4) != "":
		return theme.Dim
	case i == 0 && m.snap != nil && len(m.snap.Findings) > 0:
		return tone.Severity(m.snap.Findings[0].Severity)
	}
	return theme.Text
}

// pageCount is the number on a tab, from the snapshot on screen.
func (m *Model) pageCount(i int) (int, bool) {
	if m.snap == nil {
		return 0, false
	}
	switch i {
	case 0:
		return len(m.snap.Findings), true
	case 1:
		return len(m.snap.Nodes), true
	case 2:
		return len(m.snap.Jobs), true
	case gpuPage:
		return m.gpus, m.watched > 0
	case 4:
		return m.demand.Records, true
	}
	return 0, false
}

// rule ends a styled text with a horizontal line up to width.
func (m *Model) rule(text string, width int) string {
	text = line.Cut(text, width, "")
	return text + m.th.Paint(theme.Border, strings.Repeat(m.th.Glyphs.Horizontal, max(0, width-line.Width(text))))
}

// statusLine is the rule below the list: the filter being typed, a notice, or
// where the cursor is and what shapes the list.
func (m *Model) statusLine(l layout) string {
	if m.field != nil {
		return m.filterLine()
	}
	text := m.statusText()
	if l.side == 0 || line.Width(text) > l.list {
		return m.rule(text, m.width)
	}
	g := m.th.Glyphs
	return m.rule(text, l.list) + m.th.Paint(theme.Border, g.TeeUp) + m.rule("", l.side)
}

func (m *Model) statusText() string {
	dash := m.th.Paint(theme.Border, m.th.Glyphs.Horizontal+" ")
	say := func(n theme.Name, text string) string {
		return dash + m.th.Paint(n, line.Cut(line.Clean(text), max(0, m.width-4), m.th.Glyphs.Ellipsis)) + " "
	}
	if note := m.dialogs.Notice(); note != "" && m.dialogs.Top() != nil {
		return say(theme.Warn, note)
	}
	if m.notice.text != "" {
		return say(m.notice.tone, m.notice.text)
	}
	text := say(theme.Text, m.page().Position())
	if m.count > 0 {
		text += say(theme.Accent, fmt.Sprintf("count %d", m.count))
	}
	if f := m.filters[m.at]; f != "" {
		text += say(theme.Accent, "filter "+f)
	}
	if s := m.page().Sort(); s != "" {
		text += say(theme.Dim, "sorted by "+s)
	}
	if bad := m.badSource(); bad != nil {
		text += say(tone.Source(bad.Status), m.sourceSentence(bad))
	}
	return text
}

// badSource is the source in the worst state; nil when all are live.
func (m *Model) badSource() *fleet.SourceState {
	if m.snap == nil {
		return nil
	}
	var worst *fleet.SourceState
	for i := range m.snap.Sources {
		src := &m.snap.Sources[i]
		if !src.Usable() && (worst == nil || trouble(src) < trouble(worst)) {
			worst = src
		}
	}
	return worst
}

// sourceSentence says what is wrong with a source, since when, and what happens
// next.
func (m *Model) sourceSentence(src *fleet.SourceState) string {
	text := fmt.Sprintf("%s %s", src.Name, src.Status)
	if !src.ErrorSince.IsZero() {
		text += " since " + words.Age(m.moment.Now, src.ErrorSince)
	}
	if src.LastError != "" {
		text += ": " + src.LastError
	}
	if src.NextTry.After(m.moment.Now) {
		text += "; next try in " + words.Span(src.NextTry.Sub(m.moment.Now))
	}
	if !src.LastSuccess.IsZero() {
		text += "; data " + words.Age(m.moment.Now, src.LastSuccess) + " old, actions off"
	}
	return text
}

// filterLine is the field of the filter, with what it leaves and what could follow.
func (m *Model) filterLine() string {
	shown, all := m.page().Count()
	found, _ := m.field.Candidates()
	right := fmt.Sprintf(" %s of %s ", words.Count(shown), words.Count(all))
	if m.page().Understands(m.field.Value()) != nil {
		right = " not a filter yet " + right
	}
	if len(found) > 0 {
		right = " Tab: " + strings.Join(found[:min(6, len(found))], " ") + " " + right
	}
	right = line.Cut(right, m.width/2, m.th.Glyphs.Ellipsis)
	return m.field.View(m.width-line.Width(right)) + m.th.Paint(theme.Dim, right)
}

// emptyText is what a page shows instead of rows.
func (m *Model) emptyText() string {
	_, all := m.page().Count()
	switch {
	case m.snap == nil:
		return "starting: no source has been asked yet"
	case all > 0:
		return fmt.Sprintf("none of %s passes the filter %q; Esc drops it", words.Plural(all, "row"), m.filters[m.at])
	case len(m.snap.Sources) == 0:
		return "no source is configured: gpuctl config init writes a first file"
	}
	if src := m.badSource(); src != nil {
		if src.Status == fleet.SourceConnecting && src.LastError == "" {
			return fmt.Sprintf("connecting to %s via %s for %s; it has not answered yet", src.Name, words.Or(src.Via), words.Age(m.moment.Now, m.born))
		}
		return "nothing to show: " + m.sourceSentence(src)
	}
	return [...]string{
		fmt.Sprintf("nothing is wrong as far as can be seen on %s and %s", words.Plural(len(m.snap.Nodes), "node"), words.Plural(len(m.snap.Jobs), "job")),
		"the sources answer, but list no node", "no job is known", "no node has a GPU", "no job waits", "nothing has changed since the console started",
	}[m.at]
}
