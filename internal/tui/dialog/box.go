package dialog

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

const (
	widest  = 100 // boxes are not wider: long lines are hard to read
	margins = 4   // frame and a space on both sides
	frames  = 2   // lines of frame
)

// inner is how wide text in a box may be on a screen of that width.
func inner(width int) int { return max(1, min(width, widest)-margins) }

// box is a frame with a title, a body that scrolls and lines that stay.
type box struct {
	th     *theme.Theme
	title  string
	offset int // first body line shown
	page   int // body lines shown last
	lines  int // body lines there were
}

// scroll takes the keys that move the body; letters only where letters are free.
func (b *box) scroll(k tea.KeyPressMsg, letters bool) bool {
	by := map[string]int{
		"up": -1, "down": 1, "pgup": -max(1, b.page-1), "pgdown": max(1, b.page-1),
		"home": -b.lines, "end": b.lines,
	}
	name := k.String()
	if letters {
		for letter, key := range map[string]string{"k": "up", "j": "down", "g": "home", "G": "end"} {
			by[letter] = by[key]
		}
	}
	n, ok := by[name]
	if ok {
		b.offset = max(0, min(b.offset+n, b.lines-b.page))
	}
	return ok
}

// show scrolls so that a body line can be seen.
func (b *box) show(at int) {
	b.offset = min(b.offset, at)
	b.offset = max(b.offset, at-max(b.page, 1)+1)
}

// view draws the box at most width x height; on a tiny screen the frame goes.
func (b *box) view(body, foot []string, width, height int) string {
	w, h := min(width, widest), min(height, len(body)+len(foot)+frames)
	if w < margins+8 || h < frames+len(foot)+1 {
		return b.bare(body, foot, width, height)
	}
	b.lay(len(body), h-frames-len(foot))
	g := b.th.Glyphs
	side := b.th.Paint(theme.Border, g.Vertical)
	lines := []string{b.edge(g.TopLeft, g.TopRight, b.title, theme.Title, w)}
	for i := range b.page {
		lines = append(lines, side+" "+line.Fit(body[b.offset+i], w-margins, g.Ellipsis)+" "+side)
	}
	for _, l := range foot {
		lines = append(lines, side+" "+line.Fit(l, w-margins, g.Ellipsis)+" "+side)
	}
	return strings.Join(append(lines, b.edge(g.BottomLeft, g.BottomRight, b.more(), theme.Dim, w)), "\n")
}

func (b *box) bare(body, foot []string, width, height int) string {
	foot = foot[max(0, len(foot)-height):]
	b.lay(len(body), max(0, height-len(foot)))
	lines := append(append([]string{}, body[b.offset:b.offset+b.page]...), foot...)
	return line.Block(lines, width, min(height, len(lines)))
}

func (b *box) lay(lines, page int) {
	b.lines, b.page = lines, min(page, lines)
	b.offset = max(0, min(b.offset, lines-b.page))
}

// more says what part of the body is shown, when not all is.
func (b *box) more() string {
	if b.page >= b.lines {
		return ""
	}
	return fmt.Sprintf("lines %d-%d of %d, PgDn PgUp", b.offset+1, b.offset+b.page, b.lines)
}

func (b *box) edge(left, right, text string, n theme.Name, width int) string {
	g := b.th.Glyphs
	room := width - 2
	if text != "" {
		text = " " + line.Cut(line.Clean(text), room-3, g.Ellipsis) + " "
	}
	rest := strings.Repeat(g.Horizontal, max(0, room-1-line.Width(text)))
	return b.th.Paint(theme.Border, left+g.Horizontal) + b.th.Paint(n, text) + b.th.Paint(theme.Border, rest+right)
}
