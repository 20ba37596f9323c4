package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// span is a piece of a line with one tone.
type span struct {
	tone theme.Name
	text string
}

func paint(th *theme.Theme, spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(th.Paint(s.tone, s.text))
	}
	return b.String()
}

func widthOf(spans []span) int {
	n := 0
	for _, s := range spans {
		n += line.Width(s.text)
	}
	return n
}

// detailLevels is how many steps of brevity a source has in the header.
const detailLevels = 6

// header is the first line: every source with its age and who we are there, and
// at the right whether anything may be changed and the time.
func (m *Model) header(width int) string {
	right := m.headerRight(width)
	room := width - widthOf(right) - 1
	name := span{theme.Title, " gpuctl "}
	for level := range detailLevels {
		if left := append([]span{name}, m.allSources(level)...); widthOf(left) <= room {
			return m.ends(left, right, width)
		}
	}
	return m.ends(append([]span{name}, m.someSources(room-line.Width(name.text))...), right, width)
}

// allSources writes every source, the briefer the higher level is.
func (m *Model) allSources(level int) []span {
	switch {
	case m.snap == nil:
		return []span{{theme.Dim, " starting"}}
	case len(m.snap.Sources) == 0:
		return []span{{theme.Warn, " no sources configured"}}
	}
	var spans []span
	for i := range m.snap.Sources {
		spans = append(spans, m.sourceSpans(&m.snap.Sources[i], level)...)
	}
	return spans
}

// someSources writes as many sources as fit, those in trouble first, and counts the
// rest.
func (m *Model) someSources(room int) []span {
	if m.snap == nil || len(m.snap.Sources) == 0 {
		return m.allSources(detailLevels)
	}
	var order []*fleet.SourceState
	for i := range m.snap.Sources {
		order = append(order, &m.snap.Sources[i])
	}
	slices.SortStableFunc(order, func(a, b *fleet.SourceState) int { return trouble(a) - trouble(b) })
	var spans []span
	for i, src := range order {
		next := append(slices.Clone(spans), m.sourceSpans(src, detailLevels)...)
		more := span{theme.Dim, fmt.Sprintf("+%d", len(order)-i)}
		if i > 0 && widthOf(next)+line.Width(more.text)+1 > room {
			return append(spans, more)
		}
		spans = next
	}
	return spans
}

// trouble ranks sources: down, stale, connecting, live.
func trouble(src *fleet.SourceState) int {
	switch src.Status {
	case fleet.SourceDown:
		return 0
	case fleet.SourceStale:
		return 1
	case fleet.SourceConnecting:
		return 2
	}
	return 3
}

func (m *Model) headerRight(width int) []span {
	mode := span{theme.Text, "RW"}
	if m.opt.ReadOnly != "" {
		mode = span{theme.Warn, "RO"}
	}
	spans := []span{mode}
	if g := m.guard(); g != "" && width >= 100 && m.opt.ReadOnly == "" {
		spans = append(spans, span{theme.Dim, " guard:" + string(g)})
	}
	return append(spans, span{theme.Text, "  " + m.moment.Zone.Clock(m.moment.Now) + " "})
}

// guard is the strictest guard of all clusters.
func (m *Model) guard() actions.Guard {
	strictest := actions.Guard("")
	for _, g := range m.opt.Guards {
		if rank(g) > rank(strictest) {
			strictest = g
		}
	}
	return strictest
}

func rank(g actions.Guard) int {
	switch g {
	case actions.GuardTyped:
		return 3
	case actions.GuardConfirm:
		return 2
	case actions.GuardNone:
		return 1
	}
	return 0
}

// sourceSpans writes one source.
func (m *Model) sourceSpans(src *fleet.SourceState, level int) []span {
	glyph, look := sourceGlyph(m.th.Glyphs, src.Status), tone.Source(src.Status)
	if src.Usable() && src.Reached < src.Wanted {
		glyph, look = m.th.Glyphs.Half, theme.Warn
	}
	spans := []span{{look, " " + glyph + " "}, {theme.Accent, line.Clean(src.Name)}}
	if m.opt.Production[src.Cluster] { // in words too: colour alone says nothing in mono
		spans[1] = span{theme.Prod, line.Clean(src.Name) + " PROD"}
	}
	if src.Wanted > 0 {
		spans = append(spans, span{look, fmt.Sprintf(" %d/%d", src.Reached, src.Wanted)})
	}
	return append(spans, m.sourceWords(src, level)...)
}

func (m *Model) sourceWords(src *fleet.SourceState, level int) []span {
	var spans []span
	if level < 3 && src.Kind != "" && src.Kind != sourceAgents {
		spans = append(spans, span{theme.Dim, " " + src.Kind})
	}
	if level < 4 && src.Version != "" {
		spans = append(spans, span{theme.Dim, " " + src.Version})
	}
	spans = append(spans, span{tone.Source(src.Status), " " + sourceAge(src, m)})
	if c := m.snap.Cluster(src.Cluster); c != nil && c.Identity.User != "" && level < 5 {
		spans = append(spans, span{theme.Text, " " + identity(c.Identity, level)})
	}
	return append(spans, span{theme.Text, " "})
}

// identity is who we are on a cluster and what we may do there.
func identity(id fleet.Identity, level int) string {
	user := line.Clean(id.User)
	switch {
	case level == 0 && id.Via != "":
		return user + " (" + string(id.Role) + ", " + line.Clean(id.Via) + ")"
	case level <= 1:
		return user + " (" + string(id.Role) + ")"
	}
	return user + "/" + shortRole(id.Role)
}

func shortRole(r fleet.Role) string {
	switch r {
	case fleet.RoleAdministrator:
		return "admin"
	case fleet.RoleOperator:
		return "op"
	case fleet.RoleUser:
		return "user"
	}
	return "?"
}

func sourceGlyph(g theme.Glyphs, s fleet.SourceStatus) string {
	switch s {
	case fleet.SourceLive:
		return g.Full
	case fleet.SourceStale:
		return g.Half
	case fleet.SourceDown:
		return g.Crit
	}
	return g.Waiting
}

// sourceAge is the age of the data; a source that is not live says so in a word.
func sourceAge(src *fleet.SourceState, m *Model) string {
	age := words.Age(m.moment.Now, src.LastSuccess)
	switch src.Status {
	case fleet.SourceLive:
		return age
	case fleet.SourceConnecting:
		return "connecting"
	}
	return strings.ToUpper(string(src.Status)) + " " + age
}
