// Package line holds what every part of the console does to one line of text:
// make text from outside safe, measure it, cut it, pad it, and lay lines into a
// block of an exact size.
//
// Widths are those of x/ansi, the library that Lip Gloss and Bubble Tea measure
// with. It imports no other package of gpuctl.
package line

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Newline stands for a line break inside text from outside.
const Newline = "␤"

// Clean makes text from outside safe to draw on one line: escape sequences,
// control and direction-changing characters go, line breaks show as Newline and
// tabs become spaces.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	s = strings.NewReplacer("\r\n", Newline, "\n", Newline, "\r", Newline, "\t", " ").
		Replace(ansi.Strip(strings.ToValidUTF8(s, "\uFFFD")))
	return standalone(strings.Map(keep, s))
}

// standalone makes sure that s takes the same room wherever it is put: a mark at
// its start would join the character before it, and shift the rest of the line.
func standalone(s string) string {
	if ansi.StringWidth("|"+s+"|") == ansi.StringWidth(s)+2 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsMark(r) || !unicode.IsPrint(r) {
			return -1
		}
		if unicode.Is(unicode.Lo, r) && ansi.StringWidth(string(r)+"|") != ansi.StringWidth(string(r))+1 {
			return -1
		}
		return r
	}, s)
}

func keep(r rune) rune {
	const zeroWidthJoiner = '\u200d' // holds emoji together
	if unicode.IsControl(r) || (unicode.Is(unicode.Cf, r) && r != zeroWidthJoiner) ||
		r == '\u2028' || r == '\u2029' {
		return -1
	}
	return r
}

// plain tells whether s is printable ASCII only, which is nearly always so.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Width is the number of screen cells that s takes; styles count nothing.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// Cut shortens s to at most width cells; what is cut ends in tail, when tail
// leaves room for at least one cell of s. Styles inside s are kept whole.
func Cut(s string, width int, tail string) string {
	if width <= 0 {
		return ""
	}
	if Width(s) <= width {
		return s
	}
	if Width(tail) >= width {
		tail = ""
	}
	if plain(s) {
		return s[:width-Width(tail)] + tail
	}
	return ansi.Truncate(s, width, tail)
}

// Fit makes s exactly width cells wide: cut, or padded on the right.
func Fit(s string, width int, tail string) string {
	s = Cut(s, width, tail)
	return s + Spaces(width-Width(s))
}

// FitRight makes s exactly width cells wide: cut, or padded on the left.
func FitRight(s string, width int, tail string) string {
	s = Cut(s, width, tail)
	return Spaces(width-Width(s)) + s
}

// Spaces is n spaces; none when n is not positive.
func Spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

// Block lays lines into exactly width x height cells, without a final line
// break. Lines too many or too wide are cut off.
func Block(lines []string, width, height int) string {
	out := make([]string, max(height, 0))
	for i := range out {
		if i < len(lines) {
			out[i] = Fit(lines[i], width, "")
		} else {
			out[i] = Spaces(width)
		}
	}
	return strings.Join(out, "\n")
}

// Wrap breaks plain text into lines of at most width cells, at spaces where it
// can. Line breaks in s are kept.
func Wrap(s string, width int) []string {
	if width <= 0 {
		return nil
	}
	return strings.Split(ansi.Wrap(s, width, ""), "\n")
}

// Over draws the block top over the block under with its upper left corner at
// (x, y). Both may be styled; under keeps its size.
func Over(under, top string, x, y int) string {
	lines := strings.Split(under, "\n")
	for i, over := range strings.Split(top, "\n") {
		if y+i < 0 || y+i >= len(lines) {
			continue
		}
		full := lines[y+i]
		left := ansi.Truncate(full, x, "")
		left += Spaces(x - Width(left))
		lines[y+i] = left + over + after(full, x+Width(over))
	}
	return strings.Join(lines, "\n")
}

// after is what comes after n cells. A wide character across that place becomes a
// space: half of it cannot be drawn.
func after(s string, n int) string {
	rest := ansi.TruncateLeft(s, n, "")
	if Width(rest) > Width(s)-n {
		rest = " " + ansi.TruncateLeft(s, n+1, "")
	}
	return rest
}

// First splits off the first character as people see it, with its marks.
func First(s string) (first, rest string) {
	if s == "" || (s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf)) {
		n := min(1, len(s))
		return s[:n], s[n:]
	}
	cluster, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return cluster, s[len(cluster):]
}
