package fleet

import (
	"slices"
	"strconv"
	"strings"
)

// FoldHosts writes names as a short host list that Slurm reads too: names that
// differ only in their last digits share a bracket. Repeats are dropped. Prefixes
// keep the order in which they first come; numbers are sorted.
func FoldHosts(names []string) string {
	groups := map[string]*hostGroup{}
	var order []*hostGroup
	for _, name := range names {
		prefix, digits := splitDigits(name)
		key := prefix
		if digits == "" {
			key += "," // cannot be part of a prefix: a name of its own
		}
		g := groups[key]
		if g == nil {
			g = &hostGroup{prefix: prefix}
			groups[key] = g
			order = append(order, g)
		}
		g.digits = append(g.digits, digits)
	}
	var b strings.Builder
	for i, g := range order {
		if i > 0 {
			b.WriteByte(',')
		}
		g.write(&b)
	}
	return b.String()
}

// hostGroup is the names with one prefix.
type hostGroup struct {
	prefix string
	digits []string
}

// splitDigits cuts the digits off the end of a name, as many as fit a number.
func splitDigits(name string) (prefix, digits string) {
	i := len(name)
	for i > 0 && isDigit(name[i-1]) && len(name)-i < maxDigits {
		i--
	}
	return name[:i], name[i:]
}

// hostRun is a range of numbers written with the width of its first.
type hostRun struct {
	first, last string
	next        int64 // the number that would make it longer
}

func (g *hostGroup) write(b *strings.Builder) {
	b.WriteString(g.prefix)
	runs := g.runs()
	if len(runs) == 1 && runs[0].first == runs[0].last {
		b.WriteString(runs[0].first)
		return
	}
	for i, r := range runs {
		b.WriteByte("[,"[min(i, 1)])
		b.WriteString(r.first)
		if r.last != r.first {
			b.WriteString("-" + r.last)
		}
	}
	b.WriteByte(']')
}

// runs sorts the numbers and joins neighbours. Different widths are different
// names: n1 and n01 go to different runs, but 10 follows 09.
func (g *hostGroup) runs() []*hostRun {
	slices.SortFunc(g.digits, compareDigits)
	waiting := map[string]*hostRun{} // by the text that would make the run longer
	var runs []*hostRun
	for _, d := range slices.Compact(g.digits) {
		r := waiting[d]
		if r == nil {
			v, _ := strconv.ParseInt(d, 10, 64) // digits only; empty stands alone
			r = &hostRun{first: d, next: v}
			runs = append(runs, r)
		}
		delete(waiting, d)
		r.last = d
		r.next++
		if key := pad(r.next, len(r.first)); d != "" && waiting[key] == nil {
			waiting[key] = r
		}
	}
	return runs
}
