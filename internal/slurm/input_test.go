package slurm

import (
	"errors"
	"testing"
)

func TestInputIsCheckedBeforeAnythingIsSent(t *testing.T) {
	for _, c := range []struct {
		what  string
		check func(string) error
		good  []string
		bad   []string
	}{
		{"node", checkNode, []string{"gpu-node001", "node001-ib", "gn1.cluster", "login"}, []string{"", "-x", "a b", "gn[1-2]", "a,b", "$(x)", "a\nb", "a=b"}},
		{"partition", checkPartition, []string{"low", "low,high"}, []string{"", "low,", "--all", "a b", "a;b"}},
		{"user", checkUser, []string{"alice", "svc-1", "alice@example.org"}, []string{"", "-u", "a b", "a,b"}},
		{"signal", checkSignal, []string{"USR1", "SIGTERM", "10", "term"}, []string{"", "0", "-9", "99", "USR3", "TERM KILL"}},
		{"limit", checkTimeLimit, []string{"90", "1-00:00:00", "+60", "-30:00", "UNLIMITED", "unlimited"}, []string{"", "+", "soon", "+-5", "INFINITE; x"}},
		{"text", checkText, []string{"", "bad NVLink [x] = \"q\"", "größer ✓"}, []string{"a\nb", "a\x1b[2J", "a\x00"}},
	} {
		for _, in := range c.good {
			if err := c.check(in); err != nil {
				t.Errorf("%s %q: %v", c.what, in, err)
			}
		}
		for _, in := range c.bad {
			if err := c.check(in); !errors.Is(err, ErrInput) {
				t.Errorf("%s %q: accepted, %v", c.what, in, err)
			}
		}
	}
}
