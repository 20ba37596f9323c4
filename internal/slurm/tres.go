package slurm

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// tres is a list of trackable resources: "cpu=4,mem=10G,node=1,gres/gpu=8".
type tres struct {
	CPUs  int
	MiB   int64
	Nodes int
	GRES  []fleet.GRES
	Odd   []string // parts nobody here understands
}

// parseTRES reads a TRES list. Names that gpuctl has no use for (billing, energy,
// licences, ...) are passed over.
func parseTRES(text string) tres {
	var t tres
	for _, part := range splitTop(text) {
		name, value, ok := strings.Cut(part, "=")
		switch {
		case !ok:
			t.Odd = append(t.Odd, fmt.Sprintf("resource %q is not understood", part))
		case name == "cpu":
			t.CPUs = int(t.number(part, value))
		case name == "node":
			t.Nodes = int(t.number(part, value))
		case name == "mem":
			t.MiB = t.memory(part, value)
		case strings.HasPrefix(name, "gres/"):
			g, odd := oneGRES(part)
			t.GRES = append(t.GRES, g)
			t.Odd = append(t.Odd, odd...)
		}
	}
	return t
}

func (t *tres) number(part, value string) int64 {
	n, ok := parseCount(value)
	if !ok {
		t.Odd = append(t.Odd, fmt.Sprintf("resource %q is not understood", part))
	}
	return n
}

func (t *tres) memory(part, value string) int64 {
	n, err := parseMemory(value)
	if err != nil {
		t.Odd = append(t.Odd, fmt.Sprintf("resource %q is not understood", part))
	}
	return n
}

// parseMemory reads "10G", "1000000M", "7812.50G" or a plain number of MiB, and
// gives MiB.
func parseMemory(text string) (int64, error) {
	num, scale := strings.TrimSpace(text), 1.0
	if num == "" {
		return 0, fmt.Errorf("memory %q is not understood", text)
	}
	switch num[len(num)-1] {
	case 'K', 'k':
		scale = 1.0 / 1024
	case 'M', 'm':
	case 'G', 'g':
		scale = 1 << 10
	case 'T', 't':
		scale = 1 << 20
	case 'P', 'p':
		scale = 1 << 30
	default:
		num += "M"
	}
	f, err := strconv.ParseFloat(num[:len(num)-1], 64)
	if err != nil || math.IsNaN(f) || f < 0 || f*scale > 1<<52 {
		return 0, fmt.Errorf("memory %q is not understood", text)
	}
	return int64(f * scale), nil
}

// parseGRES reads a list of generic resources in any form Slurm writes:
// "gpu:h100:8(S:0-1)", "gpu:8(IDX:0-3,7)", "gres/gpu:h100=8", "gres:gpu:1",
// "shard:16". What it does not understand is kept as an entry that has only Raw,
// and told in odd.
func parseGRES(text string) (list []fleet.GRES, odd []string) {
	for _, part := range splitTop(text) {
		g, o := oneGRES(part)
		list = append(list, g)
		odd = append(odd, o...)
	}
	return list, odd
}

// splitTop splits at the commas outside parentheses. Words for "nothing" give
// nothing.
func splitTop(text string) []string {
	text = strings.TrimSpace(text)
	switch text {
	case "", "(null)", "N/A", "none", "None":
		return nil
	}
	var parts []string
	depth, start := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth <= 0 {
				parts = appendPart(parts, text[start:i])
				start, depth = i+1, 0
			}
		}
	}
	return appendPart(parts, text[start:])
}

func appendPart(parts []string, p string) []string {
	if p = strings.TrimSpace(p); p == "" {
		return parts
	}
	return append(parts, p)
}

// oneGRES reads one resource.
func oneGRES(raw string) (fleet.GRES, []string) {
	g, ok := gresOf(raw)
	odd := []string{fmt.Sprintf("generic resource %q is not understood", raw)}
	switch {
	case !ok:
		return fleet.GRES{Raw: raw}, odd
	case strings.Count(raw, "(") != strings.Count(raw, ")"):
		return g, odd // cut short: what followed is lost
	}
	return g, nil
}

func gresOf(raw string) (g fleet.GRES, ok bool) {
	text := strings.ReplaceAll(raw, ":(null)", ":")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "gres/"), "gres:")
	tail := ""
	if i := strings.IndexByte(text, '('); i >= 0 {
		text, tail = text[:i], text[i:]
	}
	head, count, hasCount := strings.Cut(text, "=")
	words := strings.Split(head, ":")
	if last := words[len(words)-1]; !hasCount && len(words) > 1 && looksLikeCount(last) {
		count, hasCount, words = last, true, words[:len(words)-1]
	}
	g = fleet.GRES{Name: words[0], Count: 1, Raw: raw}
	if hasCount {
		if g.Count, ok = parseCount(count); !ok {
			return g, false
		}
	}
	for _, w := range words[1:] {
		switch {
		case w == "" || w == "no_consume":
		case g.Type != "" && !hasCount: // one of the two is a count that nobody can read
			return g, false
		case g.Type != "":
			g.Type += ":" + w
		default:
			g.Type = w
		}
	}
	g.Sockets, g.Indices = gresDetail(tail)
	return g, g.Name != "" && !strings.ContainsAny(g.Name, ") ")
}

// looksLikeCount tells a count from a model; a model of digits alone needs a count
// behind it.
func looksLikeCount(s string) bool {
	if _, ok := parseCount(s); ok {
		return true
	}
	digits := strings.TrimLeft(s, "+- ")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// parseCount reads a count with an optional binary unit.
func parseCount(s string) (int64, bool) {
	shift := 0
	if s != "" {
		if i := strings.IndexByte("KMGT", s[len(s)-1]); i >= 0 {
			shift, s = 10*(i+1), s[:len(s)-1]
		}
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > uint64(math.MaxInt64)>>shift {
		return 0, false
	}
	return int64(n) << shift, true
}

// gresDetail reads the parentheses behind a resource: "(S:0-1)" as it is,
// "(IDX:0-3,7)" as numbers. Anything else stays in Raw only.
func gresDetail(text string) (sockets string, indices []int) {
	for text != "" {
		open := strings.IndexByte(text, '(')
		if open < 0 {
			return sockets, indices
		}
		end := strings.IndexByte(text[open:], ')')
		if end < 0 {
			return sockets, indices
		}
		inner := text[open+1 : open+end]
		switch {
		case strings.HasPrefix(inner, "S:"):
			sockets = text[open : open+end+1]
		case strings.HasPrefix(inner, "IDX:"):
			indices = parseIndices(strings.TrimPrefix(inner, "IDX:"))
		}
		text = text[open+end+1:]
	}
	return sockets, indices
}

// maxIndices bounds the indices believed of one resource on one node.
const maxIndices = 4096

// parseIndices reads "0-3,7"; nil when it is anything else ("N/A").
func parseIndices(text string) []int {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 16)
		b, errB := strconv.ParseUint(last, 10, 16)
		if errA != nil || errB != nil || b < a || len(out)+int(b-a) >= maxIndices {
			return nil
		}
		for i := a; i <= b; i++ {
			out = append(out, int(i))
		}
	}
	return out
}

// migType finds a MIG profile in a GRES type: "1g.5gb", "nvidia_h100_nvl_1g.12gb".
var migType = regexp.MustCompile(`(?i)(^|[^0-9a-z])[1-9]g\.?[0-9]+gb`)

// isMIG reports whether the resource is slices of GPUs rather than whole ones.
func isMIG(g fleet.GRES) bool {
	return g.Name == "mig" || g.Name == "gpu" && migType.MatchString(g.Type)
}

// countGPUs counts the whole GPUs in a list and names their model ("mixed" when
// several). A total without type includes what is listed by type, so the two are
// never added; MIG slices are taken out of it. Shards and MPS shares are no GPUs.
func countGPUs(list []fleet.GRES) (n int, model string) {
	var generic, typed, slices int64
	for _, g := range list {
		switch {
		case isMIG(g):
			slices = addCount(slices, g.Count)
		case g.Name != "gpu":
		case g.Type == "":
			generic = addCount(generic, g.Count)
		default:
			typed = addCount(typed, g.Count)
			model = mergeModel(model, g.Type)
		}
	}
	return int(max(generic-slices, typed)), model
}

// addCount adds, without the overflow that absurd input could cause.
func addCount(a, b int64) int64 { return min(a+min(b, math.MaxInt32), math.MaxInt32) }

func mergeModel(a, b string) string {
	if a == "" || a == b {
		return b
	}
	return "mixed"
}
