package slurm

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// field is one key of an object with its value, both still as JSON.
type field struct {
	key   []byte // without its quotes; escapes are left, Slurm's keys have none
	value json.RawMessage
}

// fieldsOf takes an object of valid JSON apart without copying: records have about
// a hundred fields, of which a third are read. ok is false for anything else.
func fieldsOf(raw json.RawMessage) (fields []field, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '{' || raw[len(raw)-1] != '}' {
		return nil, false
	}
	fields = make([]field, 0, 32)
	for i := nextItem(raw, 1); i < len(raw)-1; i = nextItem(raw, i) {
		key := raw[i:valueEndAt(raw, i)]
		i += len(key)
		start := nextItem(raw, i)
		i = valueEndAt(raw, start)
		if len(key) < 2 || key[0] != '"' || i == start {
			return nil, false
		}
		fields = append(fields, field{key: key[1 : len(key)-1], value: raw[start:i]})
	}
	return fields, true
}

// nextItem skips what stands between keys and values.
func nextItem(raw []byte, i int) int {
	for i < len(raw) {
		switch raw[i] {
		case ' ', '\t', '\n', '\r', ',', ':':
			i++
		default:
			return i
		}
	}
	return i
}

// valueEndAt is where the value that begins at i ends.
func valueEndAt(raw []byte, i int) int {
	depth := 0
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i)
			if depth == 0 {
				return min(i+1, len(raw))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1 + depth // the closing brace itself, unless it is the parent's
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// stringEnd is where the closing quote of the string that opens at i stands.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return i
}

// unquote reads a JSON string that is known to be valid.
func unquote(raw json.RawMessage) string {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}
