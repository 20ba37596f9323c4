package fleet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// MaxHosts is the usual limit of ExpandHosts: more than any fleet, and little
// enough to refuse "n[1-999999999]" before it takes the memory.
const MaxHosts = 100_000

// Errors of ExpandHosts, wrapped with the place.
var (
	ErrHostSyntax = errors.New("not a host list")
	ErrHostLimit  = errors.New("too many hosts")
)

// maxDigits keeps every number of a host name inside an int64.
const maxDigits = 18

// ExpandHosts returns the names that a host list stands for, in its order and with
// its repeats: "gn[007-008,012],login" is gn007, gn008, gn012, login. Items are
// separated by commas or blanks; a name may have several brackets, and text after
// them. Numbers are padded to the width of their range's first bound, as Slurm
// does. No more than limit names are made.
func ExpandHosts(list string, limit int) ([]string, error) {
	p := hostParser{list: list, limit: limit}
	var names []string
	for p.skipSeparators(); p.pos < len(list); p.skipSeparators() {
		item, err := p.item(limit - len(names))
		if err != nil {
			return nil, err
		}
		names = append(names, item...)
	}
	return names, nil
}

// hostParser walks over a host list, byte by byte.
type hostParser struct {
	list  string
	pos   int
	limit int
}

func (p *hostParser) fail(why string) error {
	return fmt.Errorf("%w: %s at position %d of %q", ErrHostSyntax, why, p.pos+1, clip(p.list, 80))
}

func (p *hostParser) over() error {
	return fmt.Errorf("%w: more than %d in %q", ErrHostLimit, p.limit, clip(p.list, 80))
}

// clip shortens text for an error message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

func (p *hostParser) skipSeparators() {
	for p.pos < len(p.list) && (p.list[p.pos] == ',' || isBlank(p.list[p.pos])) {
		p.pos++
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// item reads one name with its brackets; at most room names may come of it.
func (p *hostParser) item(room int) ([]string, error) {
	if room < 1 {
		return nil, p.over()
	}
	names := []string{""}
	for p.pos < len(p.list) {
		switch c := p.list[p.pos]; {
		case c == ',' || isBlank(c):
			return names, nil
		case c == '[':
			numbers, err := p.bracket(room / len(names))
			if err != nil {
				return nil, err
			}
			names = product(names, numbers)
		default:
			text, err := p.text()
			if err != nil {
				return nil, err
			}
			for i := range names {
				names[i] += text
			}
		}
	}
	return names, nil
}

// product joins every name with every ending; the last bracket turns fastest.
func product(names, endings []string) []string {
	out := make([]string, 0, len(names)*len(endings))
	for _, n := range names {
		for _, e := range endings {
			out = append(out, n+e)
		}
	}
	return out
}

// text reads up to the next bracket or separator.
func (p *hostParser) text() (string, error) {
	start := p.pos
	for i, r := range p.list[start:] {
		p.pos = start + i
		switch {
		case r == '[' || r == ',' || r < 0x80 && isBlank(byte(r)):
			return p.list[start:p.pos], nil
		case r == ']':
			return "", p.fail("a closing bracket without an opening one")
		case !unicode.IsPrint(r):
			return "", p.fail("an unprintable character")
		}
	}
	p.pos = len(p.list)
	return p.list[start:], nil
}

// bracket reads "[001,003-004]"; at most room numbers may come of it.
func (p *hostParser) bracket(room int) ([]string, error) {
	p.pos++ // the opening bracket
	var out []string
	for {
		first, err := p.number()
		if err != nil {
			return nil, err
		}
		last := first
		if p.take('-') {
			if last, err = p.number(); err != nil {
				return nil, err
			}
		}
		if out, err = p.appendRange(out, first, last, room); err != nil {
			return nil, err
		}
		switch {
		case p.take(','):
		case p.take(']'):
			return out, nil
		default:
			return nil, p.fail("expected a comma, a dash or a closing bracket")
		}
	}
}

func (p *hostParser) take(c byte) bool {
	if p.pos < len(p.list) && p.list[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// number reads a run of digits.
func (p *hostParser) number() (string, error) {
	start := p.pos
	for p.pos < len(p.list) && isDigit(p.list[p.pos]) {
		p.pos++
	}
	switch n := p.pos - start; {
	case n == 0:
		return "", p.fail("expected a number")
	case n > maxDigits:
		return "", p.fail("the number is too long")
	}
	return p.list[start:p.pos], nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// appendRange adds first to last, both given in digits.
func (p *hostParser) appendRange(out []string, first, last string, room int) ([]string, error) {
	lo, _ := strconv.ParseInt(first, 10, 64) // digits only, and few enough
	hi, _ := strconv.ParseInt(last, 10, 64)
	if hi < lo {
		return nil, p.fail("the range runs backwards")
	}
	if hi-lo >= int64(room-len(out)) {
		return nil, p.over()
	}
	for v := lo; v <= hi; v++ {
		out = append(out, pad(v, len(first)))
	}
	return out, nil
}

// pad writes v with at least width digits.
func pad(v int64, width int) string {
	s := strconv.FormatInt(v, 10)
	if len(s) >= width {
		return s
	}
	return strings.Repeat("0", width-len(s)) + s
}
