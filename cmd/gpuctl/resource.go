package main

import (
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// resource is one thing that get lists.
type resource struct {
	name     string
	aliases  []string
	listKind string // of the JSON object
	facts    bool   // it shows partitions or limits
	columns  []column
	fields   []fleet.Field // for --filter; nil: the columns
	agents   bool          // its rows need what node agents tell
	rows     func(s *fleet.Snapshot, now time.Time) []row
	// pick keeps the rows that the names on the command line mean; nil: by name.
	pick func(s *fleet.Snapshot, rows []row, name string) ([]row, error)
}

// column is one column of the table output.
type column struct {
	title string
	wide  bool // with -o wide only
}

// row is one line: its name, its JSON item, a text for each column, and what a
// filter sees.
type row struct {
	name  string
	item  any
	cells []string
	match fleet.Row
	key   any // what pick compares, where the name is not enough
}

// cellRow is what a filter sees of a row that is no node and no job.
type cellRow struct {
	columns []column
	cells   []string
}

// Field implements fleet.Row: the columns by their lower-case titles.
func (r *cellRow) Field(name string) (fleet.Value, bool) {
	for i, c := range r.columns {
		if strings.EqualFold(c.title, name) {
			return fleet.TextValue(r.cells[i]), true
		}
	}
	return fleet.Value{}, false
}

// Words implements fleet.Row.
func (r *cellRow) Words(yield func(string) bool) {
	for _, c := range r.cells {
		if !yield(c) {
			return
		}
	}
}

// filterFields are the fields that a filter on the resource may name.
func (r *resource) filterFields() []fleet.Field {
	if r.fields != nil {
		return r.fields
	}
	fields := make([]fleet.Field, len(r.columns))
	for i, c := range r.columns {
		fields[i] = fleet.Field{Name: strings.ToLower(c.title), Kind: fleet.KindText}
	}
	return fields
}

// resources are everything that get knows, in the order of its help.
func resources() []resource {
	return []resource{
		clusterResource(), nodeResource(), jobResource(), gpuResource(), migResource(),
		findingResource(), queueResource(), timelineResource(),
	}
}

// findResource looks a resource up by any of its words, singular or plural.
func findResource(word string) (*resource, error) {
	word = strings.ToLower(word)
	var names []string
	for _, r := range resources() {
		if r.name == word || strings.TrimSuffix(r.name, "s") == word {
			return &r, nil
		}
		if slices.Contains(r.aliases, word) {
			return &r, nil
		}
		names = append(names, r.name)
	}
	return nil, failf(exitUsage, "no resource %q; there are %s", word, strings.Join(names, ", "))
}
