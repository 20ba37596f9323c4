package input

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

func newField(t *testing.T) *Field {
	t.Helper()
	th, err := theme.Load("mono", nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(th, "/")
}

var special = map[string]tea.Key{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab},
	"shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"backspace": {Code: tea.KeyBackspace}, "delete": {Code: tea.KeyDelete}, "space": {Code: tea.KeySpace, Text: " "},
}

// press types keys named as in tea.KeyPressMsg.String and returns the last result.
func press(t *testing.T, f *Field, keys ...string) Result {
	t.Helper()
	var r Result
	for _, name := range keys {
		k, ok := special[name]
		if letter, ctrl := strings.CutPrefix(name, "ctrl+"); ctrl {
			k = tea.Key{Code: rune(letter[0]), Mod: tea.ModCtrl}
		} else if !ok {
			k = tea.Key{Code: []rune(name)[0], Text: name}
		}
		if got := tea.KeyPressMsg(k).String(); got != name {
			t.Fatalf("key %q is %q", name, got)
		}
		r = f.Press(tea.KeyPressMsg(k))
	}
	return r
}

func TestEditing(t *testing.T) {
	for _, c := range []struct {
		keys string
		want string
	}{
		{"a b c", "abc"},
		{"a b left x", "axb"},
		{"a b home x end y", "xaby"},
		{"a b backspace", "a"},
		{"a b home delete", "b"},
		{"a space b c ctrl+w", "a "},
		{"a space b space space ctrl+w", "a "},
		{"a b c left ctrl+u", "c"},
		{"a b c left ctrl+k", "ab"},
		{"a ctrl+a b ctrl+e c", "bac"},
		{"é 漢 left backspace x", "x漢"},
		{"e \u0301 x backspace backspace", ""},
		{"backspace delete left right ctrl+w", ""},
	} {
		f := newField(t)
		press(t, f, strings.Fields(c.keys)...)
		if f.Value() != c.want {
			t.Errorf("%s gives %q, want %q", c.keys, f.Value(), c.want)
		}
	}
}

func TestResults(t *testing.T) {
	for key, want := range map[string]Result{
		"q": Edited, "enter": Submitted, "esc": Cancelled, "left": Moved, "up": Ignored, "ctrl+x": Ignored, "tab": Ignored,
	} {
		if got := press(t, newField(t), key); got != want {
			t.Errorf("%s is %d, want %d", key, got, want)
		}
	}
}

func TestPasteIsOneSafeLine(t *testing.T) {
	f := newField(t)
	press(t, f, "a", "b", "left")
	f.Paste("one\n\ttwo \x1b[31mred\x1b[m\n")
	if f.Value() != "aone two redb" {
		t.Errorf("%q", f.Value())
	}
}

func TestHistory(t *testing.T) {
	f := newField(t)
	f.SetHistory([]string{"old", "new"})
	press(t, f, "d", "up")
	if f.Value() != "new" {
		t.Errorf("up: %q", f.Value())
	}
	press(t, f, "up", "up")
	if f.Value() != "old" {
		t.Errorf("up to the end: %q", f.Value())
	}
	press(t, f, "down", "down")
	if f.Value() != "d" {
		t.Errorf("back to the draft: %q", f.Value())
	}
	f.Remember()
	f.Remember()
	if got := f.History(); !slices.Equal(got, []string{"old", "new", "d"}) {
		t.Errorf("%q", got)
	}
}

func TestCompletion(t *testing.T) {
	f := newField(t)
	f.Complete = func(text string) []string {
		return slices.DeleteFunc([]string{"state:drain", "state:down", "user:"}, func(s string) bool { return !strings.HasPrefix(s, text) })
	}
	press(t, f, "s", "tab")
	if f.Value() != "state:drain" {
		t.Errorf("first: %q", f.Value())
	}
	press(t, f, "tab")
	if _, chosen := f.Candidates(); f.Value() != "state:down" || chosen != 1 {
		t.Errorf("second: %q, %d", f.Value(), chosen)
	}
	press(t, f, "tab", "shift+tab")
	if f.Value() != "state:down" {
		t.Errorf("around and back: %q", f.Value())
	}
	if list := f.ListView(20, 1); !strings.Contains(list, "state:down") {
		t.Errorf("the chosen one is not in %q", list)
	}
	f.SetValue("nothing")
	if r := press(t, f, "tab"); r != Ignored || f.Value() != "nothing" {
		t.Errorf("%d, %q", r, f.Value())
	}
}

func TestViewIsExactAndShowsTheCursor(t *testing.T) {
	f := newField(t)
	f.Placeholder = "filter, for example state:drain"
	for _, text := range []string{"", "short", strings.Repeat("long ", 30), "漢字漢字漢字漢字漢字"} {
		f.SetValue(text)
		for _, at := range []int{0, len(f.text) / 2, len(f.text)} {
			f.at = at
			for width := range 60 {
				view := f.View(width)
				if ansi.StringWidth(view) != width {
					t.Fatalf("%q at %d in %d cells: %q", text, at, width, view)
				}
				if width > 3 && !strings.Contains(view, "\x1b[7m") {
					t.Fatalf("%q at %d in %d cells: no cursor in %q", text, at, width, view)
				}
			}
		}
	}
}
