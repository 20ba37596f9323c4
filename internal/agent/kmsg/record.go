package kmsg

import (
	"strconv"
	"strings"
	"time"
)

// record is one record of the kernel log.
type record struct {
	seq   uint64
	since time.Duration // since boot; meaningless without header
	text  string
	bare  bool // a line without the header of /dev/kmsg
}

// parseRecord reads "priority,sequence,microseconds,flags;text" and the lines with
// further keys, which it drops. Any other line is its own text.
func parseRecord(raw string) record {
	line, _, _ := strings.Cut(raw, "\n")
	header, text, ok := strings.Cut(line, ";")
	fields := strings.Split(header, ",")
	if !ok || len(fields) < 3 {
		return record{text: line, bare: true}
	}
	_, err0 := strconv.ParseUint(fields[0], 10, 32)
	seq, err1 := strconv.ParseUint(fields[1], 10, 64)
	micros, err2 := strconv.ParseUint(fields[2], 10, 53)
	if err0 != nil || err1 != nil || err2 != nil {
		return record{text: line, bare: true}
	}
	return record{seq: seq, since: time.Duration(micros) * time.Microsecond, text: unescape(text)}
}

// unescape undoes the kernel's \xNN for bytes that do not print; what is still not
// printable is shown as such.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, `\x`)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		s = after
		if len(s) < 2 {
			b.WriteString(`\x`)
			continue
		}
		c, err := strconv.ParseUint(s[:2], 16, 8)
		if err != nil {
			b.WriteString(`\x`)
			continue
		}
		b.WriteByte(byte(c))
		s = s[2:]
	}
}
