package board

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/tui/dialog"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Height is how many lines View can make use of, at most room.
func (d *Dock) Height(room int) int {
	n := 0
	for _, b := range d.runs {
		n += 1 + len(b.Plan.Steps)
	}
	return min(n, room)
}

// View draws the boards in exactly width x height cells. When room is short each
// is one line, and boards that do not fit are counted.
func (d *Dock) View(width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	runs, rest := d.fitting(height)
	room := height - len(runs)
	if rest > 0 {
		room--
	}
	steps := d.share(runs, room)
	var lines []string
	for _, b := range runs {
		lines = append(lines, d.title(b, width))
		lines = append(lines, d.stepLines(b, steps[b], width)...)
	}
	if rest > 0 {
		more := "  +" + words.Plural(rest, "more board")
		lines = append(lines, d.th.Paint(theme.Dim, line.Cut(more, width, "")))
	}
	return line.Block(lines, width, height)
}

// fitting chooses the boards that get a line: the selected one, those that need
// eyes, then the newest.
func (d *Dock) fitting(height int) (runs []*Board, rest int) {
	if len(d.runs) <= height {
		return d.runs, 0
	}
	ranked := slices.Clone(d.runs)
	slices.Reverse(ranked)
	slices.SortStableFunc(ranked, func(a, b *Board) int { return d.rank(a) - d.rank(b) })
	keep := ranked[:max(1, height-1)]
	runs = slices.DeleteFunc(slices.Clone(d.runs), func(b *Board) bool { return !slices.Contains(keep, b) })
	return runs, len(d.runs) - len(runs)
}

func (d *Dock) rank(b *Board) int {
	switch {
	case b.Plan.ID == d.selected:
		return 0
	case b.Result != nil && !b.Good():
		return 1
	case b.Result == nil:
		return 2
	}
	return 3
}

// share gives each board lines for its steps, in the same order of need.
func (d *Dock) share(runs []*Board, room int) map[*Board]int {
	ranked := slices.Clone(runs)
	slices.SortStableFunc(ranked, func(a, b *Board) int { return d.rank(a) - d.rank(b) })
	steps := map[*Board]int{}
	for _, b := range ranked {
		steps[b] = max(0, min(room, len(b.Plan.Steps)))
		room -= steps[b]
	}
	return steps
}

func (d *Dock) title(b *Board, width int) string {
	n, mark, text := d.verdict(b)
	cursor := " "
	if d.focused && b.Plan.ID == d.selected {
		cursor = d.th.Glyphs.Cursor
	}
	head := fmt.Sprintf("%s %s  %d/%d", mark, line.Clean(dialog.Title(b.Plan)), b.Finished(), len(b.Plan.Steps))
	tail := d.th.Glyphs.Ellipsis
	head = line.Cut(head, max(0, width-1), tail)
	text = line.Cut("  "+line.Clean(text), max(0, width-1-line.Width(head)), tail)
	return d.th.Paint(theme.Accent, line.Cut(cursor, width, "")) + d.th.Paint(n, head) + d.th.Paint(theme.Text, text)
}

// verdict is the state of a whole board: how it looks and what it says.
func (d *Dock) verdict(b *Board) (n theme.Name, mark, text string) {
	if b.Result == nil {
		return theme.Busy, d.th.Glyphs.Running, d.current(b) + "  " + words.Span(d.now.Sub(b.began))
	}
	n, mark = d.mark(b.Result.Result)
	text = strings.ReplaceAll(string(b.Result.Result), "_", " ")
	if b.Result.Message != "" {
		text += ": " + b.Result.Message
	}
	return n, mark, text + "  " + words.Span(b.ended.Sub(b.began))
}

// current words the first step that is under way.
func (d *Dock) current(b *Board) string {
	for _, s := range b.Plan.Steps {
		if p := b.steps[s.N]; p != nil && p.result == nil && !p.began.IsZero() {
			return s.Name + d.reading(p)
		}
	}
	return "between steps"
}

func (d *Dock) reading(p *progress) string {
	if p.state == "" {
		return ""
	}
	return fmt.Sprintf(": %s (read back %s ago)", p.state, words.Span(d.now.Sub(p.read)))
}

func (d *Dock) mark(o actions.Outcome) (theme.Name, string) {
	switch o {
	case actions.Verified:
		return theme.OK, d.th.Glyphs.Done
	case actions.NotVerified:
		return theme.Warn, d.th.Glyphs.Warn
	case actions.NotTried:
		return theme.Dim, d.th.Glyphs.Skipped
	case actions.Refused, actions.Failed:
	}
	return theme.Crit, d.th.Glyphs.Failed
}

// stepLines draws the n steps most worth seeing, in their order.
func (d *Dock) stepLines(b *Board, n, width int) []string {
	ranked := slices.Clone(b.Plan.Steps)
	slices.SortStableFunc(ranked, func(x, y actions.Step) int { return b.need(x) - b.need(y) })
	keep := map[int]bool{}
	for _, s := range ranked[:n] {
		keep[s.N] = true
	}
	var lines []string
	for _, s := range b.Plan.Steps {
		if keep[s.N] {
			lines = append(lines, d.stepLine(s, b.steps[s.N], width))
		}
	}
	return lines
}

// need ranks steps: failed, under way, to come, done.
func (b *Board) need(s actions.Step) int {
	p := b.steps[s.N]
	switch {
	case p == nil:
		return 2
	case p.result == nil:
		return 1
	case p.result.Result == actions.Verified:
		return 3
	}
	return 0
}

func (d *Dock) stepLine(s actions.Step, p *progress, width int) string {
	n, mark, text, age := theme.Dim, d.th.Glyphs.Waiting, "", ""
	switch {
	case p == nil:
	case p.result != nil:
		n, mark = d.mark(p.result.Result)
		if text = p.result.Detail; text == "" {
			text = strings.ReplaceAll(string(p.result.Result), "_", " ")
		}
		if p.result.Took >= time.Second {
			age = words.Span(p.result.Took)
		}
	default:
		n, mark = theme.Busy, d.th.Glyphs.Running
		text, age = strings.TrimPrefix(d.reading(p), ": "), words.Span(d.now.Sub(p.began))
	}
	head := fmt.Sprintf("    %s %s", mark, line.Clean(s.Name))
	room := width - line.Width(age) - 1
	tail := d.th.Glyphs.Ellipsis
	head = line.Cut(head, max(0, room), tail)
	text = line.Fit("  "+line.Clean(text), max(0, room-line.Width(head)), tail)
	return d.th.Paint(n, head) + d.th.Paint(theme.Text, text) + " " + d.th.Paint(theme.Dim, age)
}
