package fleet

import (
	"cmp"
	"strings"
)

// CompareNatural orders names as people count: gpu2 before gpu10. It is 0 for
// equal names only.
func CompareNatural(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if isDigit(a[i]) && isDigit(b[j]) {
			x, y := digitRun(a[i:]), digitRun(b[j:])
			if c := compareValues(x, y); c != 0 {
				return c
			}
			i, j = i+len(x), j+len(y)
			continue
		}
		if a[i] != b[j] {
			return cmp.Compare(a[i], b[j])
		}
		i, j = i+1, j+1
	}
	return cmp.Or(cmp.Compare(len(a)-i, len(b)-j), cmp.Compare(a, b))
}

// digitRun is the digits s starts with.
func digitRun(s string) string {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return s[:i]
}

// compareDigits orders runs of digits by value, then by width.
func compareDigits(a, b string) int {
	return cmp.Or(compareValues(a, b), cmp.Compare(len(a), len(b)))
}

// compareValues orders runs of digits by value, however long they are.
func compareValues(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
