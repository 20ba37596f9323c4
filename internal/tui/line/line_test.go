package line

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                  "plain",
		"two\nlines":             "two␤lines",
		"dos\r\nline":            "dos␤line",
		"a\tb":                   "a b",
		"\x1b[31mred\x1b[m":      "red",
		"\x1b]52;c;aGk=\x07clip": "clip",
		"bell\x07 null\x00":      "bell null",
		"c1 \u009b31m":           "c1 31m",
		"turned \u202eround":     "turned round",
		"zero\u200bwidth":        "zerowidth",
		"\u17c0mark first":       "mark first",
		"bad \xff utf-8":         "bad \uFFFD utf-8",
		"漢字 é ok":                "漢字 é ok",
		"family 👨\u200d👩\u200d👧 together": "family 👨\u200d👩\u200d👧 together",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		s     string
		width int
		left  string
		right string
	}{
		{"abc", 5, "abc  ", "  abc"},
		{"abcdef", 4, "abc…", "abc…"},
		{"漢字漢字", 5, "漢字…", "漢字…"},
		{"漢字漢字", 4, "漢… ", " 漢…"},
		{"漢字", 1, " ", " "},
		{"abc", 1, "a", "a"},
		{"abc", 0, "", ""},
		{"abc", -1, "", ""},
	} {
		if got := Fit(c.s, c.width, "…"); got != c.left {
			t.Errorf("Fit(%q, %d) = %q, want %q", c.s, c.width, got, c.left)
		}
		if got := FitRight(c.s, c.width, "…"); got != c.right {
			t.Errorf("FitRight(%q, %d) = %q, want %q", c.s, c.width, got, c.right)
		}
	}
}

func TestOverKeepsSizeAndStyles(t *testing.T) {
	under := strings.Join([]string{"\x1b[31maaaaaaaa\x1b[m", "漢漢漢漢", "cccccccc"}, "\n")
	got := Over(under, "XY\nXY", 3, 1)
	want := []string{"aaaaaaaa", "漢 XY 漢", "cccXYccc"}
	for i, l := range strings.Split(got, "\n") {
		if plain := ansi.Strip(l); plain != want[i] {
			t.Errorf("line %d is %q, want %q", i, plain, want[i])
		}
	}
	if Over(under, "XY", 0, 99) != under {
		t.Error("a box below the screen changes it")
	}
}

func TestBlock(t *testing.T) {
	if got := Block([]string{"abcdef", "x"}, 3, 3); got != "abc\nx  \n   " {
		t.Errorf("%q", got)
	}
	if got := Block(nil, 3, 0); got != "" {
		t.Errorf("%q", got)
	}
}

func TestFirst(t *testing.T) {
	for in, want := range map[string]string{"": "", "a": "a", "abc": "a", "éa": "é", "e\u0301a": "e\u0301", "漢a": "漢"} {
		if first, rest := First(in); first != want || first+rest != in {
			t.Errorf("First(%q) = %q, %q", in, first, rest)
		}
	}
}

func FuzzFit(f *testing.F) {
	for _, s := range []string{"plain", "漢字", "\x1b[31mred", "e\u0301\u0301", "👨\u200d👩", "\xff\xfe", "a\u202eb", "🇩🇪🇩", "ᄀᄀᄀ각ᆨᆨ", "नमस्ते", "\u17c0a", "a\u0d4e", "\u0301"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = width % 300
		clean := Clean(s)
		if !utf8.ValidString(clean) || strings.ContainsAny(clean, "\x1b\n\r\t\x00") {
			t.Fatalf("Clean(%q) = %q", s, clean)
		}
		for _, got := range []string{Fit(clean, width, "…"), FitRight(clean, width, "…")} {
			if Width(got) != max(width, 0) {
				t.Fatalf("%q in %d cells is %q, %d cells", clean, width, got, Width(got))
			}
		}
		whole := ""
		for rest := clean; rest != ""; {
			var first string
			if first, rest = First(rest); first == "" {
				t.Fatalf("no character in %q", rest)
			}
			whole += first
		}
		if whole != clean {
			t.Fatalf("%q falls apart into %q", clean, whole)
		}
	})
}
