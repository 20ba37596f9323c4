package table

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

type node struct {
	name  string
	state string
	gpus  int
	note  string
}

func columns() []Column[node] {
	text := func(f func(node) string) func(node) Cell {
		return func(n node) Cell { return Cell{Text: f(n)} }
	}
	return []Column[node]{
		{
			ID: "name", Title: "NODE", Min: 6, Cell: text(func(n node) string { return n.name }),
			Compare: func(a, b node) int { return cmp.Compare(a.name, b.name) },
		},
		{ID: "state", Title: "STATE", NeverCut: true, Priority: 1, Cell: func(n node) Cell {
			if n.state != "IDLE" {
				return Cell{n.state, theme.Draining}
			}
			return Cell{n.state, theme.Free}
		}, Compare: func(a, b node) int { return cmp.Compare(a.state, b.state) }},
		{
			ID: "gpus", Title: "GPUS", Align: Right, Priority: 2, Cell: text(func(n node) string { return fmt.Sprint(n.gpus) }),
			Compare: func(a, b node) int { return a.gpus - b.gpus },
		},
		{ID: "note", Title: "NOTE", Min: 8, Max: 30, Priority: 3, Cell: text(func(n node) string { return n.note })},
		{ID: "extra", Title: "EXTRA", Hidden: true, Priority: 4, Cell: text(func(n node) string { return "extra " + n.name })},
	}
}

func fleet(n int) []node {
	var all []node
	for i := range n {
		nd := node{name: fmt.Sprintf("gpu-node%03d", i), state: "IDLE", gpus: (i * 7) % 16}
		if i%5 == 2 {
			nd.state, nd.note = "MIXED+DRAIN", "Kill task failed\nsee \x1b[31mlog\x1b[m of node 漢字"
		}
		all = append(all, nd)
	}
	return all
}

func newTable(t testing.TB, rows []node) *Table[node] {
	t.Helper()
	th, err := theme.Load("mono", nil)
	if err != nil {
		t.Fatal(err)
	}
	tb := New(th, columns(), func(n node) string { return n.name })
	tb.SetRows(rows)
	return tb
}

func selected(t *testing.T, tb *Table[node]) string {
	t.Helper()
	n, ok := tb.Selected()
	if !ok {
		return ""
	}
	return n.name
}

func TestC111_CursorFollowsIdentity(t *testing.T) {
	rows := fleet(9)
	tb := newTable(t, rows)
	tb.Move(5)
	tb.ToggleMark()
	tb.View(80, 24)

	tb.SetRows(rows[3:])
	if got := selected(t, tb); got != "gpu-node005" {
		t.Fatalf("rows above ended, and the cursor is on %q", got)
	}
	slices.Reverse(rows)
	tb.SetRows(rows)
	if got := selected(t, tb); got != "gpu-node005" {
		t.Fatalf("rows turned round, and the cursor is on %q", got)
	}
	if m := tb.Marked(); len(m) != 1 || m[0].name != "gpu-node005" {
		t.Errorf("marked %v", m)
	}
}

func TestC111_NothingIsSelectedWhenTheRowVanished(t *testing.T) {
	rows := fleet(9)
	tb := newTable(t, rows)
	tb.Move(5)
	without := slices.Delete(slices.Clone(rows), 5, 6)
	tb.SetRows(without)
	if got := selected(t, tb); got != "" || len(tb.Targets()) != 0 || tb.Position() != "-/8" {
		t.Fatalf("selected %q, targets %v, %s", got, tb.Targets(), tb.Position())
	}
	if strings.Contains(tb.View(80, 24), "❯") {
		t.Error("a cursor is drawn")
	}
	tb.Move(1)
	if got := selected(t, tb); got != "gpu-node006" {
		t.Errorf("moving down takes up %q, want the row now in its place", got)
	}

	tb.SetRows(rows)
	tb.SelectKey("gpu-node005")
	tb.SetRows(without)
	tb.Move(-1)
	if got := selected(t, tb); got != "gpu-node004" {
		t.Errorf("moving up takes up %q", got)
	}

	tb.SetRows(rows)
	tb.SelectKey("gpu-node005")
	tb.SetRows(without)
	tb.SetRows(rows)
	if got := selected(t, tb); got != "gpu-node005" {
		t.Errorf("the row came back, and the cursor is on %q", got)
	}
}

func TestScreenStaysUnderTheCursor(t *testing.T) {
	rows := fleet(100)
	tb := newTable(t, rows)
	tb.Move(50)
	before := cursorLine(tb.View(80, 11))
	tb.SetRows(append([]node{{name: "aaa"}, {name: "bbb"}}, rows...))
	if after := cursorLine(tb.View(80, 11)); after != before {
		t.Errorf("the cursor moved from line %d to %d", before, after)
	}
	tb.Top()
	tb.View(80, 11)
	tb.SetRows(append([]node{{name: "worse"}}, tb.Rows()...))
	if lines := strings.Split(ansi.Strip(tb.View(80, 11)), "\n"); !strings.Contains(lines[1], "worse") {
		t.Errorf("what comes in on top is not shown: %q", lines[1])
	}
}

func cursorLine(view string) int {
	return slices.IndexFunc(strings.Split(view, "\n"), func(l string) bool { return strings.Contains(l, "❯") })
}

func TestSortIsTypedAndStable(t *testing.T) {
	tb := newTable(t, []node{{name: "a", gpus: 10, state: "IDLE"}, {name: "b", gpus: 9, state: "DOWN"}, {name: "c", gpus: 10, state: "DOWN"}, {name: "d", gpus: 9, state: "IDLE"}})
	order := func() string {
		var s string
		for _, n := range tb.Rows() {
			s += n.name
		}
		return s
	}
	for _, c := range []struct{ spec, want string }{
		{"gpus", "bdac"}, {"-gpus", "acbd"}, {"state", "cbad"}, {"-name", "dcba"}, {"", "abcd"},
	} {
		if !tb.SetSort(c.spec) || order() != c.want || tb.Sort() != c.spec {
			t.Errorf("sorted by %q: %s, want %s; says %q", c.spec, order(), c.want, tb.Sort())
		}
	}
	if tb.SetSort("note") || tb.SetSort("nosuch") {
		t.Error("sorts by what cannot be compared")
	}
	tb.SetSort("gpus")
	tb.Reverse()
	if tb.Sort() != "-gpus" || selected(t, tb) != "a" {
		t.Errorf("after turning round: %s, cursor on %s", tb.Sort(), selected(t, tb))
	}
}

func TestMarks(t *testing.T) {
	rows := fleet(10)
	tb := newTable(t, rows)
	tb.SetRows(rows[:3])
	tb.MarkAll()
	tb.SetRows(rows[2:])
	if got := tb.Position(); got != "-/8, 1 marked and 2 not shown" {
		t.Error(got)
	}
	if got := tb.Targets(); len(got) != 1 || got[0].name != "gpu-node002" {
		t.Errorf("what is not shown is acted on: %v", got)
	}
	tb.UnmarkAll()
	if tb.HasMarks() || len(tb.Targets()) != 0 {
		t.Error("marks are left")
	}
}

func TestMoving(t *testing.T) {
	tb := newTable(t, fleet(72))
	tb.View(80, 21)
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { tb.Page(1) }, "20/72"},
		{func() { tb.Move(-1) }, "19/72"},
		{tb.Bottom, "72/72"},
		{func() { tb.Page(1) }, "72/72"},
		{func() { tb.Page(-1) }, "53/72"},
		{tb.Top, "1/72"},
		{func() { tb.Move(-3) }, "1/72"},
	} {
		c.do()
		if got := tb.Position(); got != c.want {
			t.Errorf("at %s, want %s", got, c.want)
		}
	}
	tb.View(80, 21)
	tb.Move(20)
	if line := cursorLine(tb.View(80, 21)); line != 15 {
		t.Errorf("leaving the screen puts the cursor on line %d, want a quarter from the end", line)
	}
	tb.Top()
	tb.View(80, 21)
	if !tb.SelectLine(4) || tb.Position() != "4/72" || tb.SelectLine(0) || tb.SelectLine(21) {
		t.Errorf("a click: %s", tb.Position())
	}
}

func TestEmptyTableSaysWhy(t *testing.T) {
	tb := newTable(t, nil)
	tb.SetEmpty("no node matches state:drain")
	tb.Move(1)
	tb.ToggleMark()
	tb.SetSort("name")
	if view := tb.View(80, 5); !strings.Contains(view, "no node matches state:drain") {
		t.Errorf("%q", view)
	}
}

func TestColumnsOfChoice(t *testing.T) {
	tb := newTable(t, fleet(3))
	if got := tb.Hidden(); !slices.Equal(got, []string{"extra"}) {
		t.Errorf("hidden at first: %v", got)
	}
	tb.Hide([]string{"note", "name", "gone-since"})
	if got := tb.Hidden(); !slices.Equal(got, []string{"note"}) {
		t.Errorf("hidden: %v; the first column always shows", got)
	}
	if view := ansi.Strip(tb.View(80, 4)); !strings.Contains(view, "EXTRA") || strings.Contains(view, "NOTE") {
		t.Error(view)
	}
}

func TestGolden(t *testing.T) {
	var b strings.Builder
	show := func(title string, tb *Table[node], w, h int) {
		fmt.Fprintf(&b, "== %s %dx%d, %s\n", title, w, h, tb.Position())
		for l := range strings.SplitSeq(ansi.Strip(tb.View(w, h)), "\n") {
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
	tb := newTable(t, fleet(12))
	tb.Hide(nil)
	tb.Move(2)
	tb.ToggleMark()
	for _, w := range []int{120, 80, 60, 40, 20, 9, 3} {
		show("from the start", tb, w, 5)
	}
	tb.Scroll(1)
	show("scrolled by one", tb, 40, 5)
	tb.Scroll(5)
	show("scrolled to the end", tb, 40, 5)
	tb.Scroll(-9)
	tb.SetSort("-gpus")
	show("sorted", tb, 60, 5)
	golden.RequireEqual(t, b.String())
}

func TestStateWordsAreNeverCut(t *testing.T) {
	for width := range 200 {
		tb := newTable(t, fleet(5))
		tb.Move(1)
		view := ansi.Strip(tb.View(width, 6))
		if strings.Contains(view, "MIXED") && !strings.Contains(view, "MIXED+DRAIN") {
			t.Fatalf("width %d:\n%s", width, view)
		}
	}
}

func TestEverySizeIsExact(t *testing.T) {
	for _, rows := range [][]node{nil, fleet(1), fleet(100)} {
		tb := newTable(t, rows)
		tb.SetEmpty("nothing here, and the reason for it is a long one")
		tb.Hide(nil)
		tb.Move(40)
		tb.MarkAll()
		for w := 0; w <= 250; w += 1 + w/10 {
			for h := 0; h <= 80; h += 1 + h/4 {
				tb.Scroll(w%3 - 1)
				exact(t, tb.View(w, h), w, h)
			}
		}
	}
}

func exact(t *testing.T, view string, w, h int) {
	t.Helper()
	if w == 0 || h == 0 {
		if view != "" {
			t.Fatalf("%dx%d: %q", w, h, view)
		}
		return
	}
	lines := strings.Split(view, "\n")
	if len(lines) != h {
		t.Fatalf("%dx%d: %d lines", w, h, len(lines))
	}
	for _, l := range lines {
		if ansi.StringWidth(l) != w {
			t.Fatalf("%dx%d: %d cells in %q", w, h, ansi.StringWidth(l), l)
		}
	}
}

func BenchmarkSetRowsSortAndView20000(b *testing.B) {
	rows := fleet(20000)
	rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	tb := newTable(b, rows)
	tb.SetSort("-gpus")
	tb.Move(300)
	for b.Loop() {
		tb.SetRows(rows)
		tb.View(200, 50)
	}
}

func BenchmarkView(b *testing.B) {
	tb := newTable(b, fleet(20000))
	tb.Hide(nil)
	for b.Loop() {
		tb.Move(1)
		tb.View(200, 50)
	}
}

// One name of 300 characters must not push what is said of every row off the screen.
func TestC08_LongNameLeavesRoom(t *testing.T) {
	rows := fleet(5)
	rows[0].name = strings.Repeat("x", 300)
	view := ansi.Strip(newTable(t, rows).View(80, 8))
	for _, want := range []string{"STATE", "MIXED+DRAIN", "gpu-node002"} {
		if !strings.Contains(view, want) {
			t.Errorf("%s is not in\n%s", want, view)
		}
	}
}
