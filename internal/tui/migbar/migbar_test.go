package migbar

import (
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

func TestDraw(t *testing.T) {
	th, err := theme.Load("mono", nil)
	if err != nil {
		t.Fatal(err)
	}
	mixed := []Part{{4, 2, "2g.20gb", theme.Text}, {0, 4, "3g.40gb", theme.Text}, {6, 1, "1g.10gb", theme.Text}}
	for want, c := range map[string]struct {
		slices int
		parts  []Part
		width  int
	}{
		"│3g.40gb        │2g.20gb│1g.│░░░│": {8, mixed, 33},
		"│3g.40│2g│1│░│":                    {8, mixed, 14},
		"│░░░░░░░░░░░░░░│":                  {8, nil, 16},
		"│░░│1g.6g│░░░░░│":                  {5, []Part{{1, 2, "1g.6gb", theme.Text}}, 16},
		"│7g.80gb                        │": {8, []Part{{0, 8, "7g.80gb", theme.Text}}, 33},
		"│a│░│":                             {2, []Part{{0, 1, "a", theme.Text}, {0, 2, "overlaps", theme.Text}, {7, 1, "outside", theme.Text}}, 5},
		"       ":                           {8, mixed, 7},
		"    ":                              {0, mixed, 4},
	} {
		got := ansi.Strip(Draw(th, c.slices, c.parts, c.width))
		if got != want || ansi.StringWidth(got) != c.width {
			t.Errorf("%q (%d cells of %d), want %q", got, ansi.StringWidth(got), c.width, want)
		}
	}
}

func TestSlices(t *testing.T) {
	for want, m := range map[int]fleet.MIGState{
		0: {}, 8: {Slices: 8, Instances: []fleet.MIGInstance{{Start: 4, Size: 2}}}, 6: {Instances: []fleet.MIGInstance{{Start: 4, Size: 2}}},
	} {
		if got := Slices(m); got != want {
			t.Errorf("%+v: %d", m, got)
		}
	}
	parts := Parts([]fleet.MIGInstance{{Profile: "1g", Start: 2, Size: 1}}, func(*fleet.MIGInstance) theme.Name { return theme.Busy })
	if len(parts) != 1 || parts[0] != (Part{2, 1, "1g", theme.Busy}) {
		t.Errorf("%+v", parts)
	}
}
