package palette

import (
	"errors"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"github.com/gpuctl/gpuctl/internal/tui/input"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

func open(t *testing.T, text string) *Palette {
	t.Helper()
	th, err := theme.Load("mono", nil)
	if err != nil {
		t.Fatal(err)
	}
	p := New(th)
	p.Open([]Command{
		{
			Name: "drain", Args: "NODE... --reason TEXT", Help: "take nodes out of service",
			Complete: func(words []string, _ string) []string {
				all := []string{"gpu-node001", "gpu-node002", "--reason", "odd name"}
				return slices.DeleteFunc(all, func(w string) bool { return slices.Contains(words, w) })
			},
		},
		{Name: "undrain", Args: "NODE...", Help: "give nodes back", Off: "ai_cluster is stale"},
		{Name: "release", Help: "let held jobs start"},
		{Name: "requeue", Help: "put jobs back in the queue"},
	}, text)
	return p
}

func tab(p *Palette) { p.Press(tea.KeyPressMsg{Code: tea.KeyTab}) }

func TestCompletesVerbsAndArguments(t *testing.T) {
	for _, c := range []struct {
		text string
		tabs int
		want string
	}{
		{"", 1, "drain"},
		{"un", 1, "undrain"},
		{"re", 2, "requeue"},
		{"drain gpu", 1, "drain gpu-node001"},
		{"drain gpu-node001 gpu", 1, "drain gpu-node001 gpu-node002"},
		{"dr --r", 1, "dr --reason"},
		{"drain odd", 1, "drain 'odd name'"},
		{"nosuch gpu", 1, "nosuch gpu"},
	} {
		p := open(t, c.text)
		for range c.tabs {
			tab(p)
		}
		if got := p.field.Value(); got != c.want {
			t.Errorf("%q and Tab gives %q, want %q", c.text, got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	c, args, err := open(t, `dra gpu-node001 --reason "ECC errors,  row 3"`).Words()
	if err != nil || c.Name != "drain" || !slices.Equal(args, []string{"gpu-node001", "--reason", "ECC errors,  row 3"}) {
		t.Errorf("%s %q, %v", c.Name, args, err)
	}
	for text, want := range map[string]error{"re 1": ErrUnknown, "nosuch": ErrUnknown, `drain "x`: ErrQuote, "": nil, "   ": nil} {
		if _, _, err := open(t, text).Words(); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

func TestEnterIsRemembered(t *testing.T) {
	p := open(t, "release 12")
	if r := p.Press(tea.KeyPressMsg{Code: tea.KeyEnter}); r != input.Submitted {
		t.Fatalf("Enter is %d", r)
	}
	p.Open(p.commands, "")
	p.Press(tea.KeyPressMsg{Code: tea.KeyUp})
	if p.field.Value() != "release 12" {
		t.Errorf("%q", p.field.Value())
	}
}

func TestView(t *testing.T) {
	var b strings.Builder
	for _, text := range []string{"", "un", "drain ", "drain gpu-node001 ", "re", "undrain gpu-node001", "nosuch"} {
		p := open(t, text)
		h := p.Height()
		b.WriteString("== " + text + "\n")
		for l := range strings.SplitSeq(ansi.Strip(p.View(60, h)), "\n") {
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
	golden.RequireEqual(t, b.String())
}

func TestEverySizeIsExact(t *testing.T) {
	p := open(t, "drain ")
	tab(p)
	for w := range 130 {
		for h := range 15 {
			view := p.View(w, h)
			if w == 0 || h == 0 {
				if view != "" {
					t.Fatalf("%dx%d: %q", w, h, view)
				}
				continue
			}
			lines := strings.Split(view, "\n")
			if len(lines) != h {
				t.Fatalf("%dx%d: %d lines", w, h, len(lines))
			}
			for _, l := range lines {
				if ansi.StringWidth(l) != w {
					t.Fatalf("%dx%d: %q", w, h, l)
				}
			}
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"drain a b", `a "b c" 'd'`, `"`, "  ", `a""b`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := Split(s)
		if err != nil {
			return
		}
		var quoted []string
		for _, w := range words {
			if w == "" || (strings.Contains(w, "'") && strings.Contains(w, `"`)) {
				return // cannot be written back
			}
			quoted = append(quoted, quote(w))
		}
		again, err := Split(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(words, again) {
			t.Fatalf("%q -> %q -> %q, %v", s, words, again, err)
		}
	})
}
