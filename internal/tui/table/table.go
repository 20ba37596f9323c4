// Package table draws a live list of any length: it keeps typed rows, a cursor
// and marks that follow identity, and asks for text only for the rows on screen.
//
//	SetRows (any time, any order) -> sort by typed comparison -> View(width, height)
//
// The cursor never jumps to another thing by itself: when the row under it is
// gone, nothing is selected until the operator moves.
//
// A Table is used by one goroutine. View remembers the size that it drew, for
// paging, and how wide columns have been, so that they do not shake.
package table

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// Align says where text stands in its column.
type Align uint8

// The alignments.
const (
	Left Align = iota
	Right
)

// Cell is the text of one row in one column and what it means. The text may come
// from outside: the table makes it safe to draw.
type Cell struct {
	Text  string
	Style theme.Name
}

// Column says how to show and compare one property of a row.
type Column[T any] struct {
	ID    string // stable, for preferences
	Title string
	// Min is how far it may be shortened; 0: it shows whole or not at all. Max
	// bounds its width; 0 is no bound. The heading always counts.
	Min, Max int
	Align    Align
	Cell     func(T) Cell
	// Compare orders rows by this property; nil: it cannot be sorted by.
	Compare func(a, b T) int
	// Hidden columns are not shown until chosen.
	Hidden bool
	// Priority decides what gives way on a narrow screen: the highest goes first.
	Priority int
	// NeverCut columns are dropped rather than shortened: half a state word lies.
	NeverCut bool
}

// Table is the list. Make one with New.
type Table[T any] struct {
	th    *theme.Theme
	key   func(T) string
	cols  []column[T]
	sorts []order
	empty string

	items    []item[T]
	marks    map[string]bool
	selected string // key under the cursor, also while that row is gone
	has      bool   // whether a row is under the cursor
	touched  bool   // whether a row ever was
	cursor   int    // where the cursor is, or was when its row went
	offset   int    // first row on screen
	left     int    // columns scrolled away sideways
	page     int    // rows drawn last
}

type column[T any] struct {
	Column[T]
	first  bool // names the row: cut last, at roomOfFirst
	widest int  // of the cells drawn so far
	room   int  // of the first column, at the width drawn
}

// item is a row with its key, worked out once, and its place as given.
type item[T any] struct {
	row T
	key string
	at  int
}

// New makes an empty table. The first column always shows, also when scrolled
// sideways. key gives the identity of a row, which must be unique.
func New[T any](th *theme.Theme, cols []Column[T], key func(T) string) *Table[T] {
	t := &Table[T]{th: th, key: key, marks: map[string]bool{}}
	for i, c := range cols {
		t.cols = append(t.cols, column[T]{Column: c, first: i == 0})
	}
	return t
}

// SetEmpty sets what is shown instead of rows when there are none, and why.
func (t *Table[T]) SetEmpty(text string) { t.empty = text }

// SetRows replaces the rows. Cursor and marks stay with their rows, and the row
// under the cursor stays on its line of the screen where it can.
func (t *Table[T]) SetRows(rows []T) {
	line := t.cursor - t.offset
	t.items = t.items[:0]
	for i, r := range rows {
		t.items = append(t.items, item[T]{row: r, key: t.key(r), at: i})
	}
	clear(t.items[len(t.items):cap(t.items)]) // let go of rows no longer shown
	t.sort()
	if !t.touched && len(t.items) > 0 {
		t.moveTo(0)
	}
	// At the top the list stays at the top: that is where the worst comes in.
	if t.find() && t.offset > 0 {
		t.offset = t.cursor - line
	}
}

// find puts the cursor back on its row; false when that is gone.
func (t *Table[T]) find() bool {
	at := -1
	if t.touched {
		at = t.indexOf(t.selected)
	}
	if t.has = at >= 0; t.has {
		t.cursor = at
	} else {
		t.cursor = max(0, min(t.cursor, len(t.items)-1))
	}
	return t.has
}

func (t *Table[T]) indexOf(key string) int {
	return slices.IndexFunc(t.items, func(i item[T]) bool { return i.key == key })
}

// Len is the number of rows.
func (t *Table[T]) Len() int { return len(t.items) }

// Rows lists the rows in the order shown.
func (t *Table[T]) Rows() []T {
	rows := make([]T, len(t.items))
	for i, it := range t.items {
		rows[i] = it.row
	}
	return rows
}

// Selected is the row under the cursor; false when there is none.
func (t *Table[T]) Selected() (T, bool) {
	if !t.has {
		var none T
		return none, false
	}
	return t.items[t.cursor].row, true
}

// SelectKey puts the cursor on the row with that key; false when there is none.
func (t *Table[T]) SelectKey(key string) bool {
	at := t.indexOf(key)
	if at >= 0 {
		t.moveTo(at)
	}
	return at >= 0
}

// SelectLine puts the cursor on line y of what was drawn last, for the mouse;
// false when no row is there.
func (t *Table[T]) SelectLine(y int) bool {
	at := t.offset + y - 1
	if y < 1 || y > t.page || at >= len(t.items) {
		return false
	}
	t.moveTo(at)
	return true
}

// Move moves the cursor n rows down, or up when n is negative. When the row under
// it had gone, the first step only takes up the row now in its place.
func (t *Table[T]) Move(n int) {
	if !t.has && n > 0 {
		n--
	}
	t.moveTo(t.cursor + n)
}

// Page moves the cursor n screens down, or up when n is negative.
func (t *Table[T]) Page(n int) { t.Move(n * max(1, t.page-1)) }

// Top moves the cursor to the first row.
func (t *Table[T]) Top() { t.moveTo(0) }

// Bottom moves the cursor to the last row.
func (t *Table[T]) Bottom() { t.moveTo(len(t.items) - 1) }

func (t *Table[T]) moveTo(i int) {
	if len(t.items) == 0 {
		return
	}
	t.cursor = max(0, min(i, len(t.items)-1))
	t.selected = t.items[t.cursor].key
	t.has, t.touched = true, true
}

// ToggleMark marks the row under the cursor, or takes its mark away.
func (t *Table[T]) ToggleMark() {
	if !t.has {
		return
	}
	if t.marks[t.selected] {
		delete(t.marks, t.selected)
	} else {
		t.marks[t.selected] = true
	}
}

// MarkAll marks every row shown.
func (t *Table[T]) MarkAll() {
	for _, it := range t.items {
		t.marks[it.key] = true
	}
}

// UnmarkAll takes all marks away, also of rows not shown now.
func (t *Table[T]) UnmarkAll() { clear(t.marks) }

// Marked lists the marked rows among those shown, in the order shown. A mark
// outlives its row's absence, but what is not shown is not acted on.
func (t *Table[T]) Marked() []T {
	if len(t.marks) == 0 {
		return nil
	}
	var rows []T
	for _, it := range t.items {
		if t.marks[it.key] {
			rows = append(rows, it.row)
		}
	}
	return rows
}

// HasMarks tells whether any row is marked, shown or not.
func (t *Table[T]) HasMarks() bool { return len(t.marks) > 0 }

// Targets are the rows that an action is about: the marked ones, or else the one
// under the cursor.
func (t *Table[T]) Targets() []T {
	if marked := t.Marked(); len(marked) > 0 {
		return marked
	}
	if row, ok := t.Selected(); ok {
		return []T{row}
	}
	return nil
}

// Position says where the cursor is and what is marked: "12/72, 3 marked".
func (t *Table[T]) Position() string {
	at := "-"
	if t.has {
		at = strconv.Itoa(t.cursor + 1)
	}
	text := fmt.Sprintf("%s/%d", at, len(t.items))
	if len(t.marks) == 0 {
		return text
	}
	shown := len(t.Marked())
	text += fmt.Sprintf(", %d marked", shown)
	if away := len(t.marks) - shown; away > 0 {
		text += fmt.Sprintf(" and %d not shown", away)
	}
	return text
}
