package theme

import (
	"image/color"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/charmbracelet/x/ansi"

	"github.com/gpuctl/gpuctl/themes"
)

func shipped(t *testing.T) []*Theme {
	t.Helper()
	var all []*Theme
	for _, name := range List(nil) {
		th, err := Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, th)
	}
	if len(all) != 6 {
		t.Fatalf("%d shipped themes, want 6", len(all))
	}
	return all
}

func TestShippedThemesNameEveryStyle(t *testing.T) {
	for _, th := range shipped(t) {
		data, err := themes.FS.ReadFile(th.Title + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range Names() {
			if !strings.Contains(string(data), "\n  "+n.String()+": {") {
				t.Errorf("%s: no style %s", th.Title, n)
			}
		}
		if th.Description == "" {
			t.Errorf("%s: no description", th.Title)
		}
	}
}

// luminance and contrast are those of WCAG 2.
func luminance(c color.Color) float64 {
	lin := func(v uint32) float64 {
		f := float64(v) / 0xffff
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	r, g, b, _ := c.RGBA()
	return 0.2126*lin(r) + 0.7152*lin(g) + 0.0722*lin(b)
}

func contrast(a, b color.Color) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func TestContrast(t *testing.T) {
	for _, th := range shipped(t) {
		if th.Background == nil {
			continue
		}
		for _, n := range Names() {
			want := 4.5
			switch {
			case th.Title == "high-contrast":
				want = 7
			case n == Border:
				want = 3
			}
			checkContrast(t, th, n, "plain", th.looks[n].spec, want)
			checkContrast(t, th, n, "selected", th.selected[n].spec, min(want, 4.5))
		}
	}
}

func checkContrast(t *testing.T, th *Theme, n Name, where string, s spec, want float64) {
	t.Helper()
	fg, bg := s.FG, s.BG
	if fg == "" {
		fg = th.looks[Text].spec.FG
	}
	front, err := parseColour(fg)
	if err != nil {
		t.Fatal(err)
	}
	back := th.Background
	if bg != "" {
		if back, err = parseColour(bg); err != nil {
			t.Fatal(err)
		}
	}
	if n == Border && where == "selected" {
		return // no frame is drawn inside a row
	}
	if got := contrast(front, back); got < want {
		t.Errorf("%s: %s (%s) has contrast %.2f, want %.1f", th.Title, n, where, got, want)
	}
}

// Groups of states that stand side by side on the screen and must differ.
var groups = [][]Name{{Busy, Free, Draining, Faulty, Stale}, {OK, Warn, Crit, Info}}

func TestStatesDifferWithoutColour(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		g := NewGlyphs(ascii)
		for _, group := range groups {
			seen := map[string]Name{}
			for _, n := range group {
				if other, dup := seen[g.Of(n)]; dup {
					t.Errorf("ascii %v: %s and %s share the symbol %q", ascii, n, other, g.Of(n))
				}
				seen[g.Of(n)] = n
			}
		}
	}
	mono, err := Load("mono", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range Names() {
		if s := mono.looks[n].spec; s.FG != "" || s.BG != "" {
			t.Errorf("mono: %s has a colour", n)
		}
	}
	for _, group := range groups {
		seen := map[string]Name{}
		for _, n := range group {
			painted := mono.Paint(n, "x")
			if other, dup := seen[painted]; dup {
				t.Errorf("mono: %s and %s look the same", n, other)
			}
			seen[painted] = n
		}
	}
}

// seenBy is a colour as a person without green (deuteranopia) or red
// (protanopia) cones sees it, after Viénot, Brettel and Mollon, 1999, reduced to
// the two values that are left: brightness and blue.
func seenBy(c color.Color, green bool) (y, b float64) {
	r, g, bl, _ := c.RGBA()
	fr, fg, fb := float64(r)/0xffff, float64(g)/0xffff, float64(bl)/0xffff
	if green {
		return 0.29275*fr + 0.70725*fg, -0.02234*fr + 0.02234*fg + fb
	}
	return 0.11238*fr + 0.88762*fg, 0.00401*fr - 0.00401*fg + fb
}

func TestColourBlindThemeKeepsStatesApart(t *testing.T) {
	th, err := Load("colour-blind", nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(n Name, green bool) (float64, float64) {
		c, err := parseColour(th.looks[n].spec.FG)
		if err != nil {
			t.Fatal(err)
		}
		return seenBy(c, green)
	}
	for _, group := range [][]Name{{OK, Warn, Crit}, {Free, Draining, Faulty, Busy}} {
		for i, a := range group {
			for _, b := range group[i+1:] {
				for _, green := range []bool{true, false} {
					y1, b1 := at(a, green)
					y2, b2 := at(b, green)
					if d := math.Hypot(y1-y2, b1-b2); d < 0.15 {
						t.Errorf("%s and %s are only %.2f apart (no green: %v)", a, b, d, green)
					}
				}
			}
		}
	}
}

func TestGlyphsAreOneCell(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		g := NewGlyphs(ascii)
		all := append([]string{
			g.Full, g.Half, g.Empty, g.Crit, g.Warn, g.Info, g.Done, g.Failed, g.Waiting, g.Running,
			g.Skipped, g.Stale, g.Prod, g.Cursor, g.Mark, g.Up, g.Down, g.More, g.Less, g.Ellipsis, g.Arrow,
			g.Horizontal, g.Vertical, g.TopLeft, g.TopRight, g.BottomLeft, g.BottomRight, g.TeeLeft,
			g.TeeRight, g.TeeDown, g.TeeUp, g.Crossing, g.Block, g.Shade,
		}, g.Steps...)
		for _, s := range all {
			if ansi.StringWidth(s) != 1 {
				t.Errorf("%q is %d cells wide", s, ansi.StringWidth(s))
			}
			if ascii && (len(s) != 1 || s[0] > '~') {
				t.Errorf("%q is not ASCII", s)
			}
		}
	}
}

func TestUserTheme(t *testing.T) {
	user := fstest.MapFS{
		"mine.yaml":   {Data: []byte("base: dark\nstyles: {warn: {fg: bright-red}}")},
		"dark.yaml":   {Data: []byte("base: dark\nstyles: {crit: {fg: '200'}}")},
		"loop.yaml":   {Data: []byte("base: loop")},
		"typo.yaml":   {Data: []byte("styles: {wran: {fg: red}}")},
		"colour.yaml": {Data: []byte("styles: {warn: {fg: rouge}}")},
		"broken.yaml": {Data: []byte("styles: [")},
	}
	mine, err := Load("mine", user)
	if err != nil {
		t.Fatal(err)
	}
	if got := mine.Paint(Warn, "x"); got != "\x1b[91mx\x1b[m" {
		t.Errorf("warn is %q", got)
	}
	if mine.looks[Crit].spec.FG != "200" {
		t.Errorf("crit is %+v, want the user's own dark under it", mine.looks[Crit].spec)
	}
	for _, name := range []string{"loop", "typo", "colour", "broken", "none", "../dark", ""} {
		if _, err := Load(name, user); err == nil {
			t.Errorf("%q loads", name)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct{ configured, key, value, want string }{
		{"", "", "", "terminal"},
		{"dark", "", "", "dark"},
		{"dark", "NO_COLOR", "1", "mono"},
		{"dark", "TERM", "dumb", "mono"},
	} {
		env := func(k string) string {
			if k == c.key {
				return c.value
			}
			return ""
		}
		if got := Choose(c.configured, env); got != c.want {
			t.Errorf("Choose(%q) with %s=%s is %s, want %s", c.configured, c.key, c.value, got, c.want)
		}
	}
}

func TestAccentOfACluster(t *testing.T) {
	th, err := Load("dark", nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := th.WithAccent("#ff0000")
	if err != nil {
		t.Fatal(err)
	}
	if other.Paint(Accent, "x") == th.Paint(Accent, "x") || other.Paint(Warn, "x") != th.Paint(Warn, "x") {
		t.Error("WithAccent must change the accent and nothing else")
	}
	if _, err := th.WithAccent("pinkish"); err == nil {
		t.Error("a wrong colour is taken")
	}
}

func BenchmarkPaint(b *testing.B) {
	th, err := Load("dark", nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_ = th.Paint(Crit, "gpu-node017")
	}
}
