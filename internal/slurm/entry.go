package slurm

import (
	"fmt"
	"regexp"
	"strings"
)

// entry is one "Key=value Key=value" record of scontrol(1). People write some of
// the values themselves, with blanks, '=' and what looks like keys in them: see
// free.
type entry struct {
	raw    string
	fields map[string]string
	allocs []string // the "Nodes=... GRES=..." lines of a job, one for each set of nodes
	odd    []string
}

// free reports whether the value of key runs to the end of its line. A job's Reason
// does not: scontrol puts underscores for its blanks.
func (e *entry) free(key string) bool {
	switch key {
	case "OS", "Comment", "Extra", "JobName", "AdminComment", "SystemComment", "Command",
		"WorkDir", "StdErr", "StdIn", "StdOut", "SubmitLine", "Container":
		return true
	case "Reason":
		return e.fields["NodeName"] != ""
	}
	return false
}

// afterFree finds, in a record on one line (scontrol -o), the keys that follow a
// free value.
var afterFree = regexp.MustCompile(` +(RealMemory|Comment|Extra|Reason|UserId|SLUID|` +
	`ArrayJobId|HetJobIdSet|WorkDir|AdminComment|SystemComment|StdErr|StdIn|StdOut|` +
	`SubmitLine|TresPerNode|TresPerJob|TresPerTask|TresPerSocket|Power|InstanceId)=`)

// keyLen is the length of the "Key=" that text begins with; 0 when it does not.
func keyLen(text string) int {
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		case c == '=' && i > 0:
			return i + 1
		case i == 0 || !('0' <= c && c <= '9' || c == '_' || c == '/' || c == ':'):
			return 0
		}
	}
	return 0
}

// splitEntries cuts an answer into records: each begins with "NAME=" at the start of a
// line, behind a blank line where records have several (a reason may hold such a line
// itself). Text before the first is left over.
func splitEntries(text, name string) (records []string, rest string) {
	mark := name + "="
	manyLines := strings.Contains(text, "\n ")
	start := -1
	for pos := 0; pos < len(text); {
		switch apart := !manyLines || strings.HasSuffix(text[:pos], "\n\n"); {
		case !strings.HasPrefix(text[pos:], mark):
		case start < 0:
			start, rest = pos, text[:pos]
		case apart:
			records = append(records, text[start:pos])
			start = pos
		}
		next := strings.IndexByte(text[pos:], '\n')
		if next < 0 {
			break
		}
		pos += next + 1
	}
	if start < 0 {
		return nil, strings.TrimSpace(text)
	}
	return append(records, text[start:]), strings.TrimSpace(rest)
}

// parseEntry reads one record, in scontrol's many lines or in its one.
func parseEntry(raw string) *entry {
	e := &entry{raw: strings.TrimRight(raw, " \n\r\t"), fields: make(map[string]string, 64)}
	oneLine := !strings.Contains(e.raw, "\n")
	last := ""
	for line := range strings.SplitSeq(e.raw, "\n") {
		text := strings.TrimSpace(line)
		switch {
		case text == "":
		case last != "" && line[0] != ' ' || keyLen(text) == 0: // inside a text of several lines
			e.extend(last, "\n"+text)
		case strings.HasPrefix(text, "Nodes=") && strings.Contains(text, " CPU_IDs="):
			e.allocs = append(e.allocs, text)
		default:
			last = e.line(text, oneLine)
		}
	}
	return e
}

// line takes the keys of one line and returns the last one.
func (e *entry) line(text string, oneLine bool) (last string) {
	for text != "" {
		n := keyLen(text)
		if n == 0 { // a blank inside a value that is not known to have any
			var word string
			word, text, _ = strings.Cut(text, " ")
			e.extend(last, " "+word)
			continue
		}
		last = text[:n-1]
		end := n + e.valueEnd(last, text[n:], oneLine)
		e.set(last, strings.TrimSpace(text[n:end]))
		text = strings.TrimLeft(text[end:], " ")
	}
	return last
}

// valueEnd is where the value of key ends in text.
func (e *entry) valueEnd(key, text string, oneLine bool) int {
	switch {
	case !e.free(key):
		if i := strings.IndexByte(text, ' '); i >= 0 {
			return i
		}
	case oneLine:
		if at := afterFree.FindStringIndex(text); at != nil {
			return at[0]
		}
	}
	return len(text)
}

// set keeps the first value of a key: what comes again later stands in a text
// that somebody wrote.
func (e *entry) set(key, value string) {
	if old, again := e.fields[key]; again {
		if old != value {
			e.odd = append(e.odd, fmt.Sprintf("%s is told twice: %q and %q", key, old, value))
		}
		return
	}
	e.fields[key] = value
}

func (e *entry) extend(key, more string) {
	if more = strings.TrimRight(more, " "); key != "" && more != "" {
		e.fields[key] += more
	}
}

// get returns the value of the first of the keys that has one. Slurm's words for
// nothing are nothing.
func (e *entry) get(keys ...string) string {
	for _, k := range keys {
		if v := clean(e.fields[k]); v != "" {
			return v
		}
	}
	return ""
}

// clean makes Slurm's words for nothing empty.
func clean(v string) string {
	switch v {
	case "(null)", "N/A", "n/a", "(none)":
		return ""
	}
	return v
}
