package keys

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

func mono(t *testing.T) *theme.Theme {
	t.Helper()
	th, err := theme.Load("mono", nil)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// why is a context that only knows which ids are off.
type why map[ID]string

func console() *Table[why] {
	return New(Console(func(c why, id ID) string { return c[id] }))
}

func TestConsoleHasNoClashes(t *testing.T) {
	for _, c := range console().Clashes() {
		t.Error(c)
	}
}

func TestClashesAreFound(t *testing.T) {
	row := Binding[int]{ID: "a", Keys: []string{"x"}, Section: "s", Help: "h", Long: "l"}
	again, sameKey, empty := row, row, Binding[int]{ID: "c"}
	sameKey.ID = "b"
	scoped := Binding[int]{ID: "d", Keys: []string{"x"}, Section: "s", Help: "h", Long: "l", Scopes: []Scope{"map"}}
	for _, c := range []struct {
		rows []Binding[int]
		want int
	}{
		{[]Binding[int]{row}, 0},
		{[]Binding[int]{row, again}, 2},
		{[]Binding[int]{row, sameKey}, 1},
		{[]Binding[int]{row, empty}, 1},
		{[]Binding[int]{row, scoped}, 0},
	} {
		if got := New(c.rows).Clashes(); len(got) != c.want {
			t.Errorf("%v, want %d clashes", got, c.want)
		}
	}
}

func TestFindPrefersTheScope(t *testing.T) {
	table := console()
	for _, c := range []struct {
		scope Scope
		key   string
		want  ID
	}{{"", "r", Requeue}, {Board, "r", BoardRetry}, {Board, "?", Help}, {"nodes", "d", Drain}} {
		if b, ok := table.Find(c.scope, c.key); !ok || b.ID != c.want {
			t.Errorf("%q in %q is %s, want %s", c.key, c.scope, b.ID, c.want)
		}
	}
	if _, ok := table.Find("", "F12"); ok {
		t.Error("an unbound key is found")
	}
}

func TestOffSaysWhy(t *testing.T) {
	b, ok := console().Get(Undrain)
	if !ok || b.Off(why{Undrain: "not drained"}) != "not drained" || b.Off(why{}) != "" {
		t.Error("the reason is lost")
	}
}

func TestFooter(t *testing.T) {
	off := why{Undrain: "not drained", Hold: "no job selected", Release: "no job selected"}
	var b strings.Builder
	for _, width := range []int{20, 80, 120, 200} {
		text := console().Footer(mono(t), "", off, width)
		if ansi.StringWidth(text) != width {
			t.Errorf("%d cells wide, want %d", ansi.StringWidth(text), width)
		}
		b.WriteString(strings.TrimRight(ansi.Strip(text), " ") + "\n")
	}
	golden.RequireEqual(t, b.String())
}

func TestFooterFitsEveryWidth(t *testing.T) {
	for width := range 260 {
		for _, scope := range []Scope{"", Board} {
			if text := console().Footer(mono(t), scope, why{}, width); ansi.StringWidth(text) != width {
				t.Fatalf("width %d: %q", width, text)
			}
		}
	}
}

func TestHelp(t *testing.T) {
	lines := console().Help(mono(t), "", why{Undrain: "not drained"}, 78)
	for _, l := range lines {
		if ansi.StringWidth(l) > 78 {
			t.Errorf("too wide: %q", l)
		}
	}
	golden.RequireEqual(t, ansi.Strip(strings.Join(lines, "\n")))
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := New(Console[int](nil)).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	golden.RequireEqual(t, b.Bytes())
}
