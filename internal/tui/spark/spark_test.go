package spark

import (
	"math"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

func TestBar(t *testing.T) {
	g := theme.NewGlyphs(true)
	for _, c := range []struct {
		fraction float64
		width    int
		want     string
	}{
		{0, 4, "...."},
		{0.001, 4, "#..."},
		{0.5, 4, "##.."},
		{0.999, 4, "###."},
		{1, 4, "####"},
		{7, 4, "####"},
		{-1, 4, "...."},
		{math.NaN(), 4, "...."},
		{0.5, 0, ""},
		{0.5, -3, ""},
	} {
		if got := Bar(g, c.fraction, c.width); got != c.want {
			t.Errorf("Bar(%v, %d) = %q, want %q", c.fraction, c.width, got, c.want)
		}
	}
}

func TestShareShowsTheFew(t *testing.T) {
	got := Share([]int{431, 61, 12, 0, 1}, 30)
	sum := 0
	for i, n := range got {
		sum += n
		if (n == 0) != (i == 3) {
			t.Errorf("%v: part %d", got, i)
		}
	}
	if sum != 30 {
		t.Errorf("%v adds up to %d", got, sum)
	}
}

func TestShareAlwaysAddsUp(t *testing.T) {
	for width := range 50 {
		for _, counts := range [][]int{{1}, {1, 1, 1}, {5, 0, 3, 900}, {7, 7, 7, 7, 7, 7, 7}} {
			sum := 0
			for _, n := range Share(counts, width) {
				if n < 0 {
					t.Fatalf("%v in %d cells: negative", counts, width)
				}
				sum += n
			}
			if sum != width {
				t.Errorf("%v in %d cells adds up to %d", counts, width, sum)
			}
		}
	}
	if got := Share([]int{0, 0}, 9); got[0]+got[1] != 0 {
		t.Error("nothing gets cells")
	}
}

func TestLine(t *testing.T) {
	g := theme.NewGlyphs(true)
	if got := Line(g, []float64{0, 50, math.NaN(), 100, 200, -5}, 100, 8); got != "  _= ##_" {
		t.Errorf("%q", got)
	}
	if got := Line(g, []float64{1, 2, 3}, 3, 2); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if got := Line(theme.NewGlyphs(false), []float64{1, 2, 3}, 0, 5); ansi.StringWidth(got) != 5 {
		t.Errorf("%q", got)
	}
}
