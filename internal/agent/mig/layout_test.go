package mig_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/mig/migtest"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

func TestParseLayout(t *testing.T) {
	free := func(p string) mig.Item { return mig.Item{Profile: p, Start: mig.Anywhere} }
	on := func(items ...mig.Item) mig.Layout { return mig.Layout{Mode: fleet.MIGEnabled, Items: items} }
	for text, want := range map[string]mig.Layout{
		"off":                             {Mode: fleet.MIGDisabled},
		" ON ":                            on(),
		"3g.40gb, 2g.20gb ,1g.10gb:2":     on(free("3g.40gb"), free("2g.20gb"), free("1g.10gb"), free("1g.10gb")),
		"3G.40GB@4,1g.10gb+me@0":          on(mig.Item{Profile: "3g.40gb", Start: 4}, mig.Item{Profile: "1g.10gb+me", Start: 0}),
		"1g.24gb+me.all,1g.24gb-me":       on(free("1g.24gb+me.all"), free("1g.24gb-me")),
		"1g.10gb:2,3g.40gb,1g.10gb@6":     on(free("1g.10gb"), free("1g.10gb"), free("3g.40gb"), mig.Item{Profile: "1g.10gb", Start: 6}),
		"1g.10gb@0,1g.10gb@1,1g.10gb@002": on(mig.Item{Profile: "1g.10gb", Start: 0}, mig.Item{Profile: "1g.10gb", Start: 1}, mig.Item{Profile: "1g.10gb", Start: 2}),
	} {
		got, err := mig.ParseLayout(text)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v\n%s", text, err, cmp.Diff(want, got))
		}
		if again, err := mig.ParseLayout(got.String()); err != nil || !cmp.Equal(again, got) {
			t.Errorf("%q: written %q, read again %v (%v)", text, got, again, err)
		}
	}
}

func TestParseLayoutRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":                              "empty",
		"3g":                            "looks like 3g.40gb",
		"3g.40gb,":                      "no profile",
		"off,3g.40gb":                   "no profile",
		"0g.10gb":                       "no profile",
		"3g.40gb:0":                     "1 to 32",
		"3g.40gb:-1":                    "1 to 32",
		"3g.40gb@":                      "place",
		"3g.40gb@-1":                    "place",
		"3g.40gb@0:2":                   "name each place",
		"1c.3g.40gb":                    "one compute instance",
		"1g.10gb:30,1g.10gb:30":         "more than 32",
		strings.Repeat("1g.10gb,", 500): "longer",
		"3g.40gb;reboot":                "no profile",
	} {
		_, err := mig.ParseLayout(text)
		if !errors.Is(err, mig.ErrLayout) || !strings.Contains(err.Error(), why) {
			t.Errorf("%.40q: %v, want %q in it", text, err, why)
		}
	}
}

func FuzzParseLayout(f *testing.F) {
	for _, s := range []string{"off", "on", "3g.40gb,2g.20gb,1g.10gb:2", "3g.40gb@4", "1g.10gb+me", "1c.2g.20gb", ",:@", "1g.10gb:99999999999999"} {
		f.Add(s)
	}
	profiles := migtest.A10080().Profiles
	f.Fuzz(func(t *testing.T, text string) {
		l, err := mig.ParseLayout(text)
		if err != nil {
			if !errors.Is(err, mig.ErrLayout) {
				t.Fatalf("%q: %v is no ErrLayout", text, err)
			}
			return
		}
		again, err := mig.ParseLayout(l.String())
		if err != nil || !cmp.Equal(l, again) {
			t.Fatalf("%q: %v %v %v", text, l, again, err)
		}
		state := fleet.MIGState{Current: fleet.MIGEnabled, Pending: fleet.MIGEnabled, Slices: 8}
		if p, err := mig.Plan(state, profiles, l, nil); err == nil && len(p.After) != len(l.Items) {
			t.Fatalf("%q: %d instances planned, %d wanted", text, len(p.After), len(l.Items))
		}
	})
}
