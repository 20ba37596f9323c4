package fleet

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ValueKind is the type of a field.
type ValueKind uint8

// The kinds of values.
const (
	KindText     ValueKind = iota
	KindState              // words of a scheduler, matched from their start
	KindNumber             // a plain number
	KindDuration           // a span of time
	KindSize               // bytes
)

// String names the kind for error messages.
func (k ValueKind) String() string {
	return [...]string{
		"text", "a state", "a number", "a time span such as 90s, 2h or 1d12h", "a size such as 512M or 80G",
	}[k]
}

// Value is what a row has in a field. The zero Value is an absent text.
type Value struct {
	Kind   ValueKind
	Absent bool
	Text   string
	Also   string   // a second text; any one of them may match
	List   []string // and more
	Num    float64  // number; seconds; bytes
}

// TextValue makes a Value of one text; an empty one is absent.
func TextValue(s string) Value { return Value{Kind: KindText, Text: s, Absent: s == ""} }

// TextsValue makes a Value of several texts.
func TextsValue(list []string) Value {
	return Value{Kind: KindText, List: list, Absent: len(list) == 0}
}

// StateValue makes a Value of a base state, its flags, and one word of ours for
// both together, which may be empty.
func StateValue(base string, flags []string, also string) Value {
	return Value{Kind: KindState, Text: base, Also: also, List: flags, Absent: base == "" && also == "" && len(flags) == 0}
}

// NumberValue makes a Value of a number.
func NumberValue[N int | int64 | float64](n N) Value { return Value{Kind: KindNumber, Num: float64(n)} }

// SizeValue makes a Value of a number of bytes.
func SizeValue(bytes float64) Value { return Value{Kind: KindSize, Num: bytes} }

// SpanValue makes a Value of a span of time.
func SpanValue(d time.Duration) Value { return Value{Kind: KindDuration, Num: d.Seconds()} }

// AgeValue makes a Value of the time from t to now; absent when t is not known.
func AgeValue(now, t time.Time) Value {
	v := SpanValue(now.Sub(t))
	v.Absent = t.IsZero()
	return v
}

// LimitValue makes a Value of a time limit; no limit is more than any other.
func LimitValue(l Limit) Value {
	v := SpanValue(l.Duration)
	switch l.Kind {
	case LimitNone:
		v.Num = math.Inf(1)
	case LimitSet:
	default:
		v.Absent = true
	}
	return v
}

// absentValue is a field of that kind which has nothing.
func absentValue(k ValueKind) Value { return Value{Kind: k, Absent: true} }

// holds reports whether the value stands in the relation to the literal. It is
// called for every row: it allocates nothing.
func (v *Value) holds(op operator, lit *literal) bool {
	if v.Absent {
		return lit.none && (op == opHas || op == opEqual)
	}
	switch v.Kind {
	case KindNumber:
		return compareNumber(v.Num, op, lit.number, lit)
	case KindDuration:
		return compareNumber(v.Num, op, lit.seconds, lit)
	case KindSize:
		return compareNumber(v.Num, op, lit.bytes, lit)
	}
	if v.Text != "" && lit.matchText(v.Text, op, v.Kind) || v.Also != "" && lit.matchText(v.Also, op, v.Kind) {
		return true
	}
	for _, s := range v.List {
		if lit.matchText(s, op, v.Kind) {
			return true
		}
	}
	return false
}

func compareNumber(a float64, op operator, b float64, lit *literal) bool {
	switch op {
	case opHas, opEqual:
		return a == b
	case opGreater:
		return a > b
	case opGreaterEqual:
		return a >= b
	case opLess:
		return a < b
	case opLessEqual:
		return a <= b
	}
	return lit.re.MatchString(strconv.FormatFloat(a, 'f', -1, 64))
}

// literal is the right side of a term, read in every way it can be. What it cannot
// be is NaN, which compares as false.
type literal struct {
	text    string
	lower   string
	number  float64
	seconds float64
	bytes   float64
	none    bool
	re      *regexp.Regexp
}

func newLiteral(s string) literal {
	return literal{
		text: s, lower: strings.ToLower(s),
		number: parseNumber(s), seconds: parseSeconds(s), bytes: parseSize(s),
		none: s == "" || strings.EqualFold(s, "none"),
	}
}

// suits reports whether the literal can be a value of that kind.
func (l *literal) suits(k ValueKind) bool {
	switch {
	case l.none:
		return true
	case k == KindNumber:
		return !math.IsNaN(l.number)
	case k == KindDuration:
		return !math.IsNaN(l.seconds)
	case k == KindSize:
		return !math.IsNaN(l.bytes)
	}
	return true
}

func (l *literal) matchText(s string, op operator, kind ValueKind) bool {
	switch op {
	case opHas:
		if kind == KindState {
			return hasWordPrefix(s, l.lower)
		}
		return containsFold(s, l.lower)
	case opEqual:
		return strings.EqualFold(s, l.text)
	case opRegexp:
		return l.re.MatchString(s)
	case opGreater:
		return CompareNatural(s, l.text) > 0
	case opGreaterEqual:
		return CompareNatural(s, l.text) >= 0
	case opLess:
		return CompareNatural(s, l.text) < 0
	}
	return CompareNatural(s, l.text) <= 0
}

// parseNumber reads 85, 1,408, 99.5 and 85%.
func parseNumber(s string) float64 {
	s = strings.ReplaceAll(strings.TrimSuffix(s, "%"), ",", "")
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// parseSeconds reads 90s, 1h30m, 1d12h, 2w and unlimited.
func parseSeconds(s string) float64 {
	if strings.EqualFold(s, "unlimited") {
		return math.Inf(1)
	}
	total, rest := 0.0, strings.ToLower(s)
	for rest != "" {
		i := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if i < 1 {
			return math.NaN()
		}
		n, err := strconv.ParseFloat(rest[:i], 64)
		unit := map[byte]float64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 7 * 86400}[rest[i]]
		if err != nil || unit == 0 {
			return math.NaN()
		}
		total += n * unit
		rest = rest[i+1:]
	}
	if s == "" {
		return math.NaN()
	}
	return total
}

// parseSize reads 512M, 80G, 80GB, 80GiB and 1.5T, by powers of 1024.
func parseSize(s string) float64 {
	s = strings.ToUpper(s)
	s = strings.TrimSuffix(strings.TrimSuffix(s, "B"), "I")
	if s == "" {
		return math.NaN()
	}
	exp := strings.IndexByte("KMGTP", s[len(s)-1])
	n, err := strconv.ParseFloat(s[:len(s)-1], 64)
	if exp < 0 || err != nil {
		return math.NaN()
	}
	return n * math.Pow(1024, float64(exp+1))
}

// containsFold reports whether s has the lower-case text in it, in any case.
func containsFold(s, lower string) bool {
	if lower == "" {
		return true
	}
	first := lower[0]
	if first >= utf8.RuneSelf || !ascii(s) {
		return strings.Contains(strings.ToLower(s), lower)
	}
	for i := 0; i+len(lower) <= len(s); i++ {
		if lowerByte(s[i]) == first && equalLower(s[i:i+len(lower)], lower) {
			return true
		}
	}
	return false
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func equalLower(s, lower string) bool {
	for i := range len(s) {
		if lowerByte(s[i]) != lower[i] {
			return false
		}
	}
	return true
}

// hasWordPrefix reports whether a state word starts with the lower-case text;
// NOT_READY, not-ready and notready are the same word. "down" is not the start of
// POWERED_DOWN.
func hasWordPrefix(state, lower string) bool {
	i := 0
	for j := range len(lower) {
		if joiner(lower[j]) {
			continue
		}
		for i < len(state) && joiner(state[i]) {
			i++
		}
		if i == len(state) || lowerByte(state[i]) != lower[j] {
			return false
		}
		i++
	}
	return true
}

func joiner(c byte) bool { return c == '_' || c == '-' || c == ' ' }
