package fleet

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// expands checks one host list against the names it must give, and that folding
// them loses none.
func expands(t *testing.T, list string, want ...string) {
	t.Helper()
	got, err := ExpandHosts(list, MaxHosts)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ExpandHosts(%q) = %q, %v; want %q", list, got, err, want)
	}
	back, err := ExpandHosts(FoldHosts(got), MaxHosts)
	if err != nil || !sameSet(back, want) {
		t.Errorf("ExpandHosts(FoldHosts(%q)) = %q, %v", got, back, err)
	}
}

func sameSet(a, b []string) bool {
	set := func(s []string) []string { s = slices.Clone(s); slices.Sort(s); return slices.Compact(s) }
	return slices.Equal(set(a), set(b))
}

func TestC34_ZeroPaddingKept(t *testing.T) {
	expands(t, "gn[007-012]", "gn007", "gn008", "gn009", "gn010", "gn011", "gn012")
	expands(t, "n[08-010]", "n08", "n09", "n10")
}

func TestC35_PaddingIsWidthOfFirstBound(t *testing.T) {
	expands(t, "b04-[09-10]", "b04-09", "b04-10")
	expands(t, "n[9-011]", "n9", "n10", "n11")
	expands(t, "n[001-3]", "n001", "n002", "n003")
}

func TestC36_DigitsBeforeBracketAndLists(t *testing.T) {
	expands(t, "c427-032,c429-002", "c427-032", "c429-002")
	expands(t, "c438-[062,104],c457-[011-012]", "c438-062", "c438-104", "c457-011", "c457-012")
}

func TestC38_SeveralBrackets(t *testing.T) {
	expands(t, "rack[0-1]_blade[0-1]", "rack0_blade0", "rack0_blade1", "rack1_blade0", "rack1_blade1")
}

func TestC40_SinglesBetweenRanges(t *testing.T) {
	expands(t, "host[001,003-004,006]", "host001", "host003", "host004", "host006")
}

func TestC42_SuffixesAndNamesWithoutDigits(t *testing.T) {
	expands(t, "node001-ib,login", "node001-ib", "login")
	expands(t, "n[1-2]-ib", "n1-ib", "n2-ib")
	expands(t, "login", "login")
	if got := FoldHosts([]string{"node001-ib", "node002-ib", "login"}); got != "node001-ib,node002-ib,login" {
		t.Errorf("Slurm cannot read text after a bracket, got %q", got)
	}
}

// The right-hand sides are scontrol 22.05's answers to `show hostlist` (sorted).
func TestC43_FoldAsSlurmDoes(t *testing.T) {
	for names, want := range map[string]string{
		"compute-001,compute-002": "compute-[001-002]",
		"gn007,gn008,gn012":       "gn[007-008,012]",
		"n9,n10,n11":              "n[9-11]",
		"n09,n10,n11":             "n[09-11]",
		"n99,n100":                "n[99-100]",
		"n099,n100":               "n[099-100]",
		"n8,n9,n10,n010":          "n[8-10,010]",
		"n1,n01,n2":               "n[1-2,01]",
		"login,login2":            "login,login2",
		"r0b0,r0b1,r1b0,r1b1":     "r0b[0-1],r1b[0-1]",
		"n2,n1":                   "n[1-2]",
		"gpu-1-1,gpu-1-2,gpu-2-1": "gpu-1-[1-2],gpu-2-1",
	} {
		if got := FoldHosts(strings.Split(names, ",")); got != want {
			t.Errorf("FoldHosts(%s) = %s, want %s", names, got, want)
		}
	}
	if got := FoldHosts([]string{"b", "a", "b", ""}); got != "b,a," {
		t.Errorf("repeats: %q", got)
	}
	if FoldHosts(nil) != "" {
		t.Error("nothing folds to nothing")
	}
}

func TestExpandHostsSeparators(t *testing.T) {
	expands(t, " n1, n2\n,,n[3-3] ", "n1", "n2", "n3")
	expands(t, "")
}

func TestExpandHostsBadSyntax(t *testing.T) {
	for list, place := range map[string]string{
		"n[]": "position 3", "n[1,]": "position 5", "n[1-2": "position 6", "n1]": "position 3",
		"n[3-1]": "backwards", "n[a]": "position 3", "n[1-]": "position 5", "a,n[1[2]]": "position 6",
		"n[-1]": "position 3", "n\x00": "unprintable", "n[1111111111111111111]": "too long",
	} {
		names, err := ExpandHosts(list, MaxHosts)
		if !errors.Is(err, ErrHostSyntax) || !strings.Contains(err.Error(), place) {
			t.Errorf("ExpandHosts(%q) = %q, %v; want %q", list, names, err, place)
		}
	}
}

func TestExpandHostsLimit(t *testing.T) {
	for _, list := range []string{
		"n[1-999999999999]", "n[1-400]x[1-400]y[1-400]", "a[1-99999],b,c", "n[0-999999999999999999]",
	} {
		if _, err := ExpandHosts(list, MaxHosts); !errors.Is(err, ErrHostLimit) {
			t.Errorf("ExpandHosts(%q): %v", list, err)
		}
	}
	if names, err := ExpandHosts("n[1-3]", 3); err != nil || len(names) != 3 {
		t.Errorf("a full limit is allowed: %q, %v", names, err)
	}
}

func TestCompareNatural(t *testing.T) {
	want := []string{"", "gpu", "gpu01", "gpu1", "gpu2", "gpu2-b", "gpu2a", "gpu10", "gpu10a9", "gpu10a10", "login"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, CompareNatural)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, p := range [][2]string{{"gpu2", "gpu10"}, {"gpu2", "gpu2-b"}, {"a", "b"}, {"n099", "n100"}, {"9", "10"}} {
		if CompareNatural(p[0], p[1]) >= 0 || CompareNatural(p[1], p[0]) <= 0 {
			t.Errorf("%s must come before %s", p[0], p[1])
		}
	}
}

func FuzzExpandHosts(f *testing.F) {
	for _, s := range []string{
		"gn[007-012]", "rack[0-1]_blade[0-1],login", "n[", "n[1-2]x", "a,,b", "n[99-100,7,07]", "[1-2]", "\xff[1]",
		"n[000000000000000001]", "x1234567890123456789012",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		names, err := ExpandHosts(list, 1000)
		if err != nil {
			if !errors.Is(err, ErrHostSyntax) && !errors.Is(err, ErrHostLimit) {
				t.Fatalf("unclassed error %v", err)
			}
			return
		}
		if len(names) > 1000 {
			t.Fatalf("%d names", len(names))
		}
		folded := FoldHosts(names)
		back, err := ExpandHosts(folded, 1000)
		if err != nil || !sameSet(names, back) {
			t.Fatalf("%q -> %q -> %q -> %q, %v", list, names, folded, back, err)
		}
		for i := 1; i < len(names); i++ {
			if a, b := names[i-1], names[i]; CompareNatural(a, b) != -CompareNatural(b, a) || (a == b) != (CompareNatural(a, b) == 0) {
				t.Fatalf("order of %q and %q", a, b)
			}
		}
	})
}
