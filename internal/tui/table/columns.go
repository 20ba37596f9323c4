package table

import (
	"slices"

	"github.com/gpuctl/gpuctl/internal/tui/line"
)

const (
	gutter = 2 // cursor and mark
	gap    = 2 // between columns
)

// Choice is one column as the column chooser shows it.
type Choice struct {
	ID, Title string
	Shown     bool
	Sortable  bool
	// Fixed columns always show.
	Fixed bool
}

// Choices lists all columns in order.
func (t *Table[T]) Choices() []Choice {
	var all []Choice
	for i, c := range t.cols {
		all = append(all, Choice{
			ID: c.ID, Title: c.Title, Shown: i == 0 || !c.Hidden,
			Sortable: c.Compare != nil, Fixed: i == 0,
		})
	}
	return all
}

// Hide hides exactly the columns with these ids; ids that no column has are
// ignored, since preferences may be older than the console.
func (t *Table[T]) Hide(ids []string) {
	for i := range t.cols {
		t.cols[i].Hidden = slices.Contains(ids, t.cols[i].ID)
	}
	t.left = 0
}

// Hidden lists the ids of the columns chosen away, for preferences.
func (t *Table[T]) Hidden() []string {
	var ids []string
	for _, c := range t.Choices() {
		if !c.Shown {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Scroll moves the columns after the first n places sideways.
func (t *Table[T]) Scroll(n int) {
	t.left = max(0, min(t.left+n, len(t.chosen())-2))
}

// chosen lists the columns that the operator wants to see.
func (t *Table[T]) chosen() []*column[T] {
	var cols []*column[T]
	for i := range t.cols {
		if i == 0 || !t.cols[i].Hidden {
			cols = append(cols, &t.cols[i])
		}
	}
	return cols
}

// natural is the width that shows all that was seen so far, within the bounds.
func (c *column[T]) natural() int {
	w := max(c.widest, line.Width(c.Title), c.Min, 1)
	if c.Max > 0 && !c.NeverCut {
		w = min(w, max(c.Max, c.Min))
	}
	if c.first && c.room > 0 {
		w = min(w, c.room)
	}
	return w
}

// roomOfFirst is the most that the first column takes of a width: one long name leaves
// room for what there is to say.
func roomOfFirst(width int) int { return max(width*3/5, 24) }

// least is the width below which the column is dropped. Without a Min it is not
// shortened at all: a number cut short is another number.
func (c *column[T]) least() int {
	if c.NeverCut || c.first || c.Min <= 0 {
		return c.natural()
	}
	return min(c.Min, c.natural())
}

// placed is a column with its place in the layout.
type placed[T any] struct {
	*column[T]
	at    int // index in the chosen columns
	width int
}

// layout chooses which columns fit into width, and how wide each is. From the
// start, the least important give way; scrolled sideways, the last ones do.
func (t *Table[T]) layout(chosen []*column[T], width int) []placed[T] {
	var cols []placed[T]
	chosen[0].room = roomOfFirst(width)
	for i, c := range chosen {
		if i == 0 || i > t.left {
			cols = append(cols, placed[T]{column: c, at: i, width: c.natural()})
		}
	}
	for len(cols) > 1 && total(cols, (*column[T]).least) > width {
		last := len(cols) - 1
		if t.left == 0 {
			last = leastImportant(cols)
		}
		cols = slices.Delete(cols, last, last+1)
	}
	shrink(cols, width)
	return cols
}

func total[T any](cols []placed[T], width func(*column[T]) int) int {
	sum := gap * (len(cols) - 1)
	for _, c := range cols {
		sum += width(c.column)
	}
	return sum
}

// leastImportant is the column to drop next: highest priority number, then the
// rightmost; never the first.
func leastImportant[T any](cols []placed[T]) int {
	worst := len(cols) - 1
	for i := len(cols) - 1; i > 0; i-- {
		if cols[i].Priority > cols[worst].Priority {
			worst = i
		}
	}
	return worst
}

// shrink takes from the least important columns first until width is kept.
func shrink[T any](cols []placed[T], width int) {
	over := total(cols, (*column[T]).natural) - width
	byImportance := make([]int, len(cols))
	for i := range cols {
		byImportance[i] = i
	}
	slices.SortStableFunc(byImportance, func(a, b int) int { return cols[b].Priority - cols[a].Priority })
	for _, i := range byImportance {
		if over <= 0 {
			return
		}
		take := min(over, cols[i].width-cols[i].least())
		cols[i].width -= take
		over -= take
	}
	if over > 0 { // only the first column is left, and even that is too wide
		cols[0].width = max(0, cols[0].width-over)
	}
}

// title is the heading of a column, with an arrow when it is sorted by.
func (t *Table[T]) title(c *column[T]) string {
	if len(t.sorts) == 0 || t.sorts[0].id != c.ID {
		return c.Title
	}
	arrow := t.th.Glyphs.Up
	if t.sorts[0].reverse {
		arrow = t.th.Glyphs.Down
	}
	return c.Title + arrow
}
