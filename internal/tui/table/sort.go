package table

import (
	"slices"
	"strings"
)

// order is one level of sorting.
type order struct {
	id      string
	reverse bool
}

// levels is how many sort columns are kept: equal rows stay in the order of the
// column sorted by before.
const levels = 2

// SetSort sorts by a column, "-" before its id reverses; "" goes back to the
// order given. False when there is no such column or it cannot be sorted by.
func (t *Table[T]) SetSort(spec string) bool {
	if spec == "" {
		t.sorts = nil
		t.resort()
		return true
	}
	id, reverse := strings.CutPrefix(spec, "-")
	if c := t.column(id); c == nil || c.Compare == nil {
		return false
	}
	kept := slices.DeleteFunc(t.sorts, func(o order) bool { return o.id == id })
	t.sorts = slices.Insert(kept, 0, order{id: id, reverse: reverse})
	t.sorts = t.sorts[:min(levels, len(t.sorts))]
	t.resort()
	return true
}

// Sort is the spec of the present sorting, as SetSort takes it.
func (t *Table[T]) Sort() string {
	if len(t.sorts) == 0 {
		return ""
	}
	if t.sorts[0].reverse {
		return "-" + t.sorts[0].id
	}
	return t.sorts[0].id
}

// Reverse turns the present sorting round.
func (t *Table[T]) Reverse() {
	if len(t.sorts) > 0 {
		t.sorts[0].reverse = !t.sorts[0].reverse
		t.resort()
	}
}

func (t *Table[T]) resort() {
	t.sort()
	t.find()
}

func (t *Table[T]) sort() {
	type level struct {
		compare func(a, b T) int
		sign    int
	}
	var by []level
	for _, o := range t.sorts {
		l := level{compare: t.column(o.id).Compare, sign: 1}
		if o.reverse {
			l.sign = -1
		}
		by = append(by, l)
	}
	// The place as given makes the order total, so a fast sort is a stable one.
	slices.SortFunc(t.items, func(a, b item[T]) int {
		for _, l := range by {
			if c := l.compare(a.row, b.row); c != 0 {
				return l.sign * c
			}
		}
		return a.at - b.at
	})
}

func (t *Table[T]) column(id string) *column[T] {
	for i := range t.cols {
		if t.cols[i].ID == id {
			return &t.cols[i]
		}
	}
	return nil
}
