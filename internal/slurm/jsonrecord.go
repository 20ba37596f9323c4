package slurm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// record is one JSON object, read field by field. Every reader takes the names
// that versions gave the same field and uses the first that says something. What
// cannot be read counts as not told and is noted as an oddity of the whole record.
type record struct {
	fields []field
	path   string    // of this object inside its record, for oddities: "time."
	odd    *[]string // of the whole record
}

// newRecord opens an object; anything else gives an empty record with an oddity.
func newRecord(raw json.RawMessage) record {
	r := record{odd: new([]string)}
	var ok bool
	if r.fields, ok = fieldsOf(raw); !ok {
		r.note("record", raw)
	}
	return r
}

// recordsOf opens an array of objects; a single object counts as one.
func recordsOf(raw json.RawMessage) []record {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	out := make([]record, len(list))
	for i, item := range list {
		out[i] = newRecord(item)
	}
	return out
}

// note remembers a value that could not be read, cut short.
func (r record) note(name string, raw []byte) {
	const most = 80
	if len(raw) > most {
		raw = append(bytes.Clone(raw[:most]), "..."...)
	}
	*r.odd = append(*r.odd, fmt.Sprintf("%s%s is %q", r.path, name, raw))
}

// oddities are the oddities of the whole record; nil when there are none.
func (r record) oddities() []string { return *r.odd }

// value is the field as it stands; nil when it is not there.
func (r record) value(name string) json.RawMessage {
	for i := range r.fields {
		if string(r.fields[i].key) == name {
			return r.fields[i].value
		}
	}
	return nil
}

// raw is the first of the fields that is there and not null.
func (r record) raw(names []string) (string, json.RawMessage) {
	for _, n := range names {
		if v := r.value(n); len(v) > 0 && v[0] != 'n' {
			return n, v
		}
	}
	return "", nil
}

// has reports whether one of the fields is there and not null.
func (r record) has(names ...string) bool {
	_, v := r.raw(names)
	return v != nil
}

// at opens a nested object; an empty record when there is none.
func (r record) at(names ...string) record {
	name, raw := r.raw(names)
	sub := record{path: r.path + name + ".", odd: r.odd}
	if raw == nil {
		return sub
	}
	var ok bool
	if sub.fields, ok = fieldsOf(raw); !ok {
		r.note(name, raw)
	}
	return sub
}

// list opens a nested array of objects.
func (r record) list(names ...string) []record {
	name, raw := r.raw(names)
	if raw == nil {
		return nil
	}
	list := recordsOf(raw)
	for i := range list {
		*r.odd = append(*r.odd, list[i].oddities()...)
		list[i].odd, list[i].path = r.odd, r.path+name+"."
	}
	return list
}

// text reads a string. A number gives its digits, a list of words the words with
// commas, and an object its "list" (a host list, since 24.05).
func (r record) text(names ...string) string {
	name, raw := r.raw(names)
	if raw == nil {
		return ""
	}
	switch raw[0] {
	case '"':
		return unquote(raw)
	case '[':
		return strings.Join(r.words(name), ",")
	case '{':
		return r.at(name).text("list", "name", "string")
	}
	return string(raw)
}

// words reads a list of words, or one string of words with commas between.
func (r record) words(names ...string) []string {
	name, raw := r.raw(names)
	if raw == nil {
		return nil
	}
	if raw[0] != '[' {
		return words(r.text(name))
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		r.note(name, raw)
		return nil
	}
	var out []string
	for _, item := range items {
		switch {
		case len(item) > 0 && (item[0] == '{' || item[0] == '['):
			r.note(name, item)
		case item[0] != '"':
			out = append(out, string(item))
		default:
			out = append(out, unquote(item))
		}
	}
	return out
}

// flag reads a boolean, also written as 0, 1, "true" or "yes".
func (r record) flag(names ...string) bool {
	switch strings.ToLower(r.text(names...)) {
	case "true", "1", "yes":
		return true
	}
	return false
}

// number is a number that may be unset or infinite, which is not 0.
type number struct {
	n        int64
	told     bool // n holds
	infinite bool
}

// or is the number, or other when there is none.
func (n number) or(other int64) int64 {
	if n.told {
		return n.n
	}
	return other
}

// Slurm's own words for "no value" and "infinite" inside plain numbers
// (slurm.h: NO_VAL, INFINITE and their 64-bit forms).
const (
	noVal, infinite       = 0xfffffffe, 0xffffffff
	noVal64, infinite64   = "18446744073709551614", "18446744073709551615"
	minusNoVal64, minusOn = -2, -1
)

// num reads a number: plain, null, in quotes, or {"set","infinite","number"}.
func (r record) num(names ...string) number {
	name, raw := r.raw(names)
	if raw == nil {
		return number{}
	}
	if raw[0] == '{' {
		return r.wrapped(name)
	}
	n, ok := parseNum(r.text(name))
	if !ok || raw[0] == '[' {
		n = number{}
		r.note(name, raw)
	}
	return n
}

// wrapped reads a number with its set and infinite marks.
func (r record) wrapped(name string) number {
	w := r.at(name)
	switch {
	case w.flag("infinite"):
		return number{infinite: true}
	case w.has("set") && !w.flag("set"):
		return number{}
	}
	return w.num("number")
}

// parseNum reads the digits of a number. Empty is unset, not an error.
func parseNum(s string) (number, bool) {
	switch strings.ToUpper(s) {
	case "", "N/A", "NONE", "UNKNOWN", noVal64:
		return number{}, true
	case "INFINITE", "UNLIMITED", infinite64:
		return number{infinite: true}, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || math.Abs(f) > 1<<62 {
			return number{}, false
		}
		n = int64(f)
	}
	switch n {
	case noVal, minusNoVal64:
		return number{}, true
	case infinite, minusOn:
		return number{infinite: true}, true
	}
	return number{n: n, told: true}, true
}

// count reads a number of things, which is 0 when not told. What cannot be one is
// noted and counts as not told.
func (r record) count(names ...string) int {
	n := r.num(names...).or(0)
	if n < 0 || n > math.MaxInt32 {
		r.note(names[0], strconv.AppendInt(nil, n, 10))
		return 0
	}
	return int(n)
}

// maxEpoch is the end of the year 9999: what is later is no time.
const maxEpoch = 253402300799

// time reads seconds since 1970; the zero time when unset, 0 or not believable.
func (r record) time(names ...string) time.Time {
	n := r.num(names...)
	if !n.told || n.n <= 0 {
		return time.Time{}
	}
	if n.n > maxEpoch {
		r.note(names[0], []byte(strconv.FormatInt(n.n, 10)))
		return time.Time{}
	}
	return time.Unix(n.n, 0).UTC()
}

// span reads a duration in the given unit; 0 when not told.
func (r record) span(unit time.Duration, names ...string) time.Duration {
	n := r.num(names...).or(0)
	if n < 0 || n > int64(maxDays*24*time.Hour/unit) {
		return 0
	}
	return time.Duration(n) * unit
}

// limit reads a time limit in minutes.
func (r record) limit(names ...string) fleet.Limit {
	switch n := r.num(names...); {
	case n.infinite:
		return fleet.Limit{Kind: fleet.LimitNone}
	case n.told && n.n >= 0 && n.n <= maxDays*24*60:
		return fleet.Limit{Kind: fleet.LimitSet, Duration: time.Duration(n.n) * time.Minute}
	}
	return fleet.Limit{}
}
