package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrQuery is in every error of ParseQuery and Query.Check.
var ErrQuery = errors.New("filter not understood")

// Row is what a Query looks at: one line of a table.
type Row interface {
	// Field returns the value of a field, by any of its names in lower case; false
	// when rows of this kind have no such field.
	Field(name string) (Value, bool)
	// Words yields the texts that the row shows, for bare words.
	Words(yield func(string) bool)
}

// Field describes one field of a kind of row.
type Field struct {
	Name    string
	Aliases []string
	Kind    ValueKind
	Doc     string // a few words
}

func (f *Field) named(name string) bool { return f.Name == name || slices.Contains(f.Aliases, name) }

// Query is a parsed filter. The zero Query matches every row. It is immutable
// and safe for concurrent use.
//
//	state:drain  user==alice  temp>85 && owner:none  !cluster:prod-a
//	name~^gpu-node0[1-3]  age>2h  free>=4  (a || b) "two words"
//
// A colon asks whether the field has the text in it (a state: whether one of its
// words starts with it; a number: whether it is equal). Terms next to each other
// must all hold. Only the regular expression after ~ minds upper and lower case.
// The value "none" matches what is absent.
type Query struct {
	text  string
	root  expr // nil: everything
	terms []*term
}

// String is the query as it was written.
func (q Query) String() string { return q.text }

// Empty reports a query that matches every row.
func (q Query) Empty() bool { return q.root == nil }

// Match reports whether the row passes the filter.
func (q Query) Match(r Row) bool { return q.root == nil || q.root.match(r) }

// Check reports the first term that names a field which is not among fields, or
// whose value does not suit its field.
func (q Query) Check(fields []Field) error {
	for _, t := range q.terms {
		if err := t.check(fields); err != nil {
			return err
		}
	}
	return nil
}

// LiteralQuery matches the rows that show the text s, whatever it looks like. It is
// what a filter that does not parse falls back to.
func LiteralQuery(s string) Query {
	text := strings.TrimSpace(s)
	if text == "" {
		return Query{text: s}
	}
	return Query{text: s, root: word(strings.ToLower(text))}
}

// expr is a node of the parsed filter.
type expr interface{ match(r Row) bool }

type allOf []expr

func (a allOf) match(r Row) bool {
	for _, e := range a {
		if !e.match(r) {
			return false
		}
	}
	return true
}

type anyOf []expr

func (a anyOf) match(r Row) bool {
	for _, e := range a {
		if e.match(r) {
			return true
		}
	}
	return false
}

type not struct{ expr }

func (n not) match(r Row) bool { return !n.expr.match(r) }

// word is a bare word, in lower case.
type word string

func (w word) match(r Row) bool {
	for text := range r.Words {
		if containsFold(text, string(w)) {
			return true
		}
	}
	return false
}

// term compares one field with a literal.
type term struct {
	field string // lower case
	op    operator
	lit   literal
}

func (t *term) match(r Row) bool {
	v, ok := r.Field(t.field)
	if !ok {
		return false
	}
	if t.op == opNotEqual {
		return !v.holds(opEqual, &t.lit)
	}
	return v.holds(t.op, &t.lit)
}

func (t *term) check(fields []Field) error {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.named(t.field) })
	if i < 0 {
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.Name
		}
		return fmt.Errorf("%w: no field %q; fields are %s", ErrQuery, t.field, strings.Join(names, ", "))
	}
	if t.op != opRegexp && !t.lit.suits(fields[i].Kind) {
		return fmt.Errorf("%w: %s is %s, not %q", ErrQuery, t.field, fields[i].Kind, t.lit.text)
	}
	return nil
}
