package table

import (
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// View draws a heading and the rows around the cursor in exactly width x height
// cells. What is hidden is counted in the heading.
func (t *Table[T]) View(width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	t.page = height - 1
	t.follow()
	items := t.items[t.offset:min(t.offset+t.page, len(t.items))]
	chosen := t.chosen()
	cells := t.measure(chosen, items)
	cols := t.layout(chosen, width-gutter)
	lines := make([]string, 0, height)
	lines = append(lines, t.heading(cols, len(chosen), width))
	for i, it := range items {
		lines = append(lines, t.row(it, cells[i], cols, width))
	}
	if len(t.items) == 0 {
		for _, l := range line.Wrap(line.Clean(t.empty), width-gutter) {
			lines = append(lines, line.Spaces(gutter)+t.th.Paint(theme.Dim, l))
		}
	}
	return line.Block(lines, width, height)
}

// follow keeps the cursor on the screen and the screen full. A cursor that leaves
// the screen takes it along by a quarter at once: beside another pane every line
// scrolled is a whole screen over the line.
func (t *Table[T]) follow() {
	ahead, last := t.page/4, max(t.page, 1)-1
	switch {
	case !t.has:
	case t.cursor < t.offset:
		t.offset = t.cursor - ahead
	case t.cursor > t.offset+last:
		t.offset = t.cursor - last + ahead
	}
	t.offset = max(0, min(t.offset, len(t.items)-t.page))
}

// measure makes the cells of the rows on screen and widens their columns. Widths
// never shrink by themselves: the columns would shake at every update.
func (t *Table[T]) measure(chosen []*column[T], items []item[T]) [][]Cell {
	cells := make([][]Cell, len(items))
	for i, it := range items {
		cells[i] = make([]Cell, len(chosen))
		for j, c := range chosen {
			cell := c.Cell(it.row)
			cell.Text = line.Clean(cell.Text)
			cells[i][j] = cell
			c.widest = max(c.widest, line.Width(cell.Text))
		}
	}
	for _, c := range chosen {
		c.widest = max(c.widest, line.Width(t.title(c)))
	}
	return cells
}

func (t *Table[T]) heading(cols []placed[T], chosen, width int) string {
	var b strings.Builder
	b.WriteString(line.Spaces(gutter))
	for i, c := range cols {
		if i > 0 {
			b.WriteString(line.Spaces(gap))
		}
		b.WriteString(t.fit(t.title(c.column), c.width, c.Align))
	}
	text := line.Cut(b.String(), width, "")
	note := ""
	if t.left > 0 {
		note = fmt.Sprintf(" %s%d", t.th.Glyphs.Less, t.left)
	}
	if right := chosen - len(cols) - t.left; right > 0 {
		note += fmt.Sprintf(" +%d%s", right, t.th.Glyphs.More)
	}
	text = line.Fit(text, width-line.Width(note), "")
	return t.th.Paint(theme.Title, text) + t.th.Paint(theme.Accent, note)
}

func (t *Table[T]) row(it item[T], cells []Cell, cols []placed[T], width int) string {
	current := t.has && it.key == t.selected
	paint := t.th.Paint
	if current {
		paint = t.th.PaintSelected
	}
	r := run{paint: paint}
	cursor, mark := " ", " "
	if current {
		cursor = t.th.Glyphs.Cursor
	}
	if t.marks[it.key] {
		mark = t.th.Glyphs.Mark
	}
	r.add(theme.Accent, cursor)
	r.add(theme.Mark, mark)
	used := gutter
	for i, c := range cols {
		if i > 0 {
			r.add(theme.Text, line.Spaces(gap))
			used += gap
		}
		r.cell(cells[c.at], c.width, c.Align, t.th.Glyphs.Ellipsis)
		used += c.width
	}
	r.add(theme.Text, line.Spaces(width-used))
	return r.String()
}

func (t *Table[T]) fit(s string, width int, a Align) string {
	if a == Right {
		return line.FitRight(s, width, t.th.Glyphs.Ellipsis)
	}
	return line.Fit(s, width, t.th.Glyphs.Ellipsis)
}

// run paints neighbouring pieces of the same style at once.
type run struct {
	paint func(theme.Name, string) string
	done  strings.Builder
	style theme.Name
	text  strings.Builder
}

func (r *run) add(n theme.Name, text string) {
	if text == " " { // an empty gutter looks the same in every style
		n = theme.Text
	}
	if n != r.style {
		r.flush()
		r.style = n
	}
	r.text.WriteString(text)
}

// cell adds text and its padding; the padding is plain, or underlined states
// would draw a line through the row.
func (r *run) cell(c Cell, width int, a Align, tail string) {
	text := line.Cut(c.Text, width, tail)
	pad := line.Spaces(width - line.Width(text))
	if a == Right {
		r.add(theme.Text, pad)
		r.add(c.Style, text)
		return
	}
	r.add(c.Style, text)
	r.add(theme.Text, pad)
}

func (r *run) flush() {
	r.done.WriteString(r.paint(r.style, r.text.String()))
	r.text.Reset()
}

// String ends the run.
func (r *run) String() string {
	r.flush()
	return r.done.String()
}
