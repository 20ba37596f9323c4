package fleet

import "testing"

func TestMatchHosts(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		host     string
		want     bool
	}{
		{nil, "gpu1", true},
		{[]string{"gpu[001-003]"}, "GPU002", true},
		{[]string{"gpu[001-003]"}, "gpu004", false},
		{[]string{"a", "gpu*"}, "gpu9", true},
		{[]string{"gpu[1-2]-?"}, "gpu2-a", true},
		{[]string{"gpu[1-2]-?"}, "gpu2-ab", false},
		{[]string{""}, "gpu1", false},
	} {
		match, err := MatchHosts(c.patterns)
		if err != nil || match(c.host) != c.want {
			t.Errorf("%q %q: %v", c.patterns, c.host, err)
		}
	}
	for _, bad := range []string{"gpu[1-", `gpu\*`} {
		if _, err := MatchHosts([]string{bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
