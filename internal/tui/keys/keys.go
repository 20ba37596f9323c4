// Package keys holds the one table of key bindings. Dispatch, the footer, the help
// overlay, the documentation and the reason why a key is off all come from it.
//
// C is what a binding may look at to say that it is off: the console's own state.
// The console maps each ID to a method; a test there checks that none is missing.
package keys

import (
	"fmt"
	"slices"
)

// ID names what a key does. The console maps it to a method.
type ID string

// Scope is a part of the console where a binding holds, besides or instead of the
// general one.
type Scope string

// Binding is one row of the table.
type Binding[C any] struct {
	ID ID
	// Keys are as tea.KeyPressMsg.String names them: "d", "ctrl+l", "space", "pgdown".
	Keys    []string
	Section string
	Help    string // for the footer, a word or two: "drain"
	Long    string // for help and documentation, a sentence without its period
	// Scopes limits the binding; none means everywhere. A scoped binding hides a
	// general one with the same key.
	Scopes []Scope
	// Dangerous bindings change the world; they never act without a plan shown.
	Dangerous bool
	// Rank is its place in the queue for the footer: 1 is the last to give way,
	// 0 is never shown there.
	Rank int
	// Disabled says why it cannot be used now; nil or empty: it can.
	Disabled func(C) string
}

// Off is the reason why the binding cannot be used now; empty when it can.
func (b Binding[C]) Off(ctx C) string {
	if b.Disabled == nil {
		return ""
	}
	return b.Disabled(ctx)
}

// Table is a set of bindings ready for use.
type Table[C any] struct {
	rows []Binding[C]
	find map[where]int
}

type where struct {
	scope Scope
	key   string
}

// New makes a table. Clashes tells what is wrong with it.
func New[C any](rows []Binding[C]) *Table[C] {
	t := &Table[C]{rows: rows, find: map[where]int{}}
	for i, b := range rows {
		for _, w := range b.places() {
			if _, taken := t.find[w]; !taken {
				t.find[w] = i
			}
		}
	}
	return t
}

func (b Binding[C]) places() []where {
	scopes := b.Scopes
	if len(scopes) == 0 {
		scopes = []Scope{""}
	}
	var all []where
	for _, s := range scopes {
		for _, k := range b.Keys {
			all = append(all, where{s, k})
		}
	}
	return all
}

// Find is the binding of a key in a scope, the general one if it has none there.
func (t *Table[C]) Find(scope Scope, key string) (Binding[C], bool) {
	for _, s := range []Scope{scope, ""} {
		if i, ok := t.find[where{s, key}]; ok {
			return t.rows[i], true
		}
	}
	return Binding[C]{}, false
}

// IDs lists every ID in the order of the table, for the check that each has a method.
func (t *Table[C]) IDs() []ID {
	var ids []ID
	for _, b := range t.rows {
		ids = append(ids, b.ID)
	}
	return ids
}

// Get is the binding with that ID.
func (t *Table[C]) Get(id ID) (Binding[C], bool) {
	i := slices.IndexFunc(t.rows, func(b Binding[C]) bool { return b.ID == id })
	if i < 0 {
		return Binding[C]{}, false
	}
	return t.rows[i], true
}

// Clashes lists what is wrong with the table: keys bound twice in one scope, ids
// used twice, rows without text. It is for a test.
func (t *Table[C]) Clashes() []string {
	var wrong []string
	keys, ids := map[where]ID{}, map[ID]bool{}
	for _, b := range t.rows {
		if ids[b.ID] {
			wrong = append(wrong, fmt.Sprintf("%s is there twice", b.ID))
		}
		ids[b.ID] = true
		if b.Help == "" || b.Long == "" || b.Section == "" || len(b.Keys) == 0 {
			wrong = append(wrong, fmt.Sprintf("%s lacks a text, a section or a key", b.ID))
		}
		for _, w := range b.places() {
			if other, taken := keys[w]; taken {
				wrong = append(wrong, fmt.Sprintf("%q in scope %q is both %s and %s", w.key, w.scope, other, b.ID))
			}
			keys[w] = b.ID
		}
	}
	return wrong
}

// in lists the bindings that a scope can use: its own, and the general ones whose
// first key it does not take.
func (t *Table[C]) in(scope Scope) []Binding[C] {
	var rows []Binding[C]
	for _, b := range t.rows {
		if len(b.Keys) == 0 {
			continue
		}
		if found, ok := t.Find(scope, b.Keys[0]); ok && found.ID == b.ID {
			rows = append(rows, b)
		}
	}
	return rows
}
