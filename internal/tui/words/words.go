// Package words turns the nouns of a fleet into the short texts that the console
// shows: spans, counts, states, limits. Everything in it is a pure function of its
// arguments; an absent value is "-", never 0.
//
// It imports fleet, trace, and line to make text from outside safe.
package words

import (
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/line"
)

// None stands for a value that nobody told.
const None = "-"

// Count writes n with commas: 1,408.
func Count(n int) string {
	s := strconv.Itoa(n)
	if n < 0 {
		return s
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural writes a count with its noun: "1 job", "9 jobs".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Span writes a duration in at most two units: 12s, 4m10s, 22m, 13h39m, 3d4h.
// Seconds are left out from ten minutes on, so that an old age does not redraw
// its row every second.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Span(-d)
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < 10*time.Minute:
		return two(int(d/time.Minute), "m", int(d%time.Minute/time.Second), "s")
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 24*time.Hour:
		return two(int(d/time.Hour), "h", int(d%time.Hour/time.Minute), "m")
	}
	days := int(d / (24 * time.Hour))
	return two(days, "d", int(d%(24*time.Hour)/time.Hour), "h")
}

func two(a int, unitA string, b int, unitB string) string {
	s := strconv.Itoa(a) + unitA
	if b == 0 {
		return s
	}
	return s + strconv.Itoa(b) + unitB
}

// Age is the span since t; None when t is not known.
func Age(now, t time.Time) string {
	if t.IsZero() {
		return None
	}
	return Span(max(0, now.Sub(t)))
}

// Coarse is Age without seconds once a minute has passed, for table cells.
func Coarse(now, t time.Time) string {
	if t.IsZero() {
		return None
	}
	d := max(0, now.Sub(t))
	if d >= time.Minute {
		d = d.Truncate(time.Minute)
	}
	return Span(d)
}

// Limit writes a time limit.
func Limit(l fleet.Limit) string {
	switch l.Kind {
	case fleet.LimitSet:
		return Span(l.Duration)
	case fleet.LimitNone:
		return "no limit"
	case fleet.LimitPartition:
		return "partition's"
	}
	return None
}

// Or is s, or None when s is empty.
func Or(s string) string {
	if s == "" {
		return None
	}
	return s
}

// Lines splits text from outside into safe lines.
func Lines(s string) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = line.Clean(lines[i])
	}
	return lines
}

// MiB writes a size given in MiB: 512M, 2.0T.
func MiB(n int64) string {
	size, unit := float64(n), "M"
	for _, next := range []string{"G", "T", "P"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, next
	}
	if unit == "M" || size >= 100 {
		return strconv.FormatFloat(size, 'f', 0, 64) + unit
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + unit
}
