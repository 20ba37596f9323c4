package slurm

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

func checkNodeState(t *testing.T, words []string, base string, flags ...string) {
	t.Helper()
	s := parseNodeState(words...)
	if s.Base != base || !slices.Equal(s.Flags, flags) {
		t.Errorf("%q: got %s %v, want %s %v", words, s.Base, s.Flags, base, flags)
	}
	if len(s.Odd) != 0 {
		t.Errorf("%q: odd %q", words, s.Odd)
	}
}

func TestC01_SuffixesOfSinfo(t *testing.T) {
	checkNodeState(t, []string{"idle*"}, "IDLE", "NOT_RESPONDING")
	checkNodeState(t, []string{"mixed-"}, "MIXED", "PLANNED")
	checkNodeState(t, []string{"idle~"}, "IDLE", "POWERED_DOWN")
	checkNodeState(t, []string{"mix#"}, "MIXED", "POWERING_UP")
	checkNodeState(t, []string{"down*+drain"}, "DOWN", "NOT_RESPONDING", "DRAIN")
	checkNodeState(t, []string{"alloc$*"}, "ALLOCATED", "MAINTENANCE", "NOT_RESPONDING")
	if v := (&fleet.View{Base: "IDLE", Flags: parseNodeState("idle*").Flags}); v.Condition() == fleet.CondFree {
		t.Error("idle* counts as free")
	}
}

func TestC03_CompoundState(t *testing.T) {
	checkNodeState(t, []string{"MIXED+DRAIN"}, "MIXED", "DRAIN")
	checkNodeState(t, []string{"IDLE+DYNAMIC_NORM+MAINTENANCE+RESERVED+PLANNED"}, "IDLE",
		"DYNAMIC_NORM", "MAINTENANCE", "RESERVED", "PLANNED")
	checkNodeState(t, []string{"DOWN+NOT_RESPONDING"}, "DOWN", "NOT_RESPONDING")
	checkNodeState(t, []string{"IDLE+CLOUD+POWERED_DOWN"}, "IDLE", "CLOUD", "POWERED_DOWN")
	checkNodeState(t, []string{"MIXED+CLOUD+POWERING_UP"}, "MIXED", "CLOUD", "POWERING_UP")
}

func TestC05_UnknownFlagIsKept(t *testing.T) {
	s := parseNodeState("IDLE+SHINY_NEW+DRAIN")
	if s.Base != "IDLE" || !slices.Equal(s.Flags, []string{"SHINY_NEW", "DRAIN"}) || len(s.Odd) != 1 {
		t.Errorf("got %+v", s)
	}
}

func TestC06_DrainedAndDrainingAreDrains(t *testing.T) {
	checkNodeState(t, []string{"draining"}, "MIXED", "DRAIN")
	checkNodeState(t, []string{"drng@"}, "MIXED", "DRAIN", "REBOOT_REQUESTED")
	checkNodeState(t, []string{"drained*"}, "UNKNOWN", "DRAIN", "NOT_RESPONDING")
}

func TestC29_DrainInStateFlags(t *testing.T) {
	checkNodeState(t, []string{"idle", "DRAIN"}, "IDLE", "DRAIN")
	checkNodeState(t, []string{"IDLE", "DRAIN", "DRAIN"}, "IDLE", "DRAIN")
}

func TestNodeStateWithoutBase(t *testing.T) {
	for _, in := range []string{"", "DRAIN", "+", "*"} {
		if s := parseNodeState(in); s.Base != fleet.BaseUnknown || len(s.Odd) == 0 {
			t.Errorf("%q: got %+v", in, s)
		}
	}
}

func TestJobState(t *testing.T) {
	for _, c := range []struct {
		words []string
		base  string
		flags string
		by    string
	}{
		{[]string{"RUNNING"}, "RUNNING", "", ""},
		{[]string{"CANCELLED", "COMPLETING"}, "CANCELLED", "COMPLETING", ""},
		{[]string{"CANCELLED by 64201"}, "CANCELLED", "", "64201"},
		{[]string{"CONFIGURING"}, "RUNNING", "CONFIGURING", ""},
		{[]string{"COMPLETING"}, "COMPLETING", "", ""},
		{[]string{"REQUEUED"}, "REQUEUED", "", ""},
		{[]string{"REQUEUE_HOLD"}, "PENDING", "REQUEUE_HOLD", ""},
		{[]string{"PENDING", "REQUEUED"}, "PENDING", "REQUEUED", ""},
		{[]string{"PD"}, "PENDING", "", ""},
		{[]string{"OUT_OF_MEMORY"}, "OUT_OF_MEMORY", "", ""},
	} {
		s := parseJobState(c.words...)
		if s.Base != c.base || strings.Join(s.Flags, "+") != c.flags || s.By != c.by || len(s.Odd) != 0 {
			t.Errorf("%q: got %+v", c.words, s)
		}
	}
	if s := parseJobState("RUNNING", "SHINY"); s.Base != "RUNNING" || len(s.Odd) != 1 || !slices.Contains(s.Flags, "SHINY") {
		t.Errorf("unknown word: %+v", s)
	}
	if s := parseJobState(""); s.Base != "UNKNOWN" || len(s.Odd) != 1 {
		t.Errorf("empty: %+v", s)
	}
}

func FuzzParseNodeState(f *testing.F) {
	for _, s := range []string{"MIXED+DRAIN", "down*+drain", "idle~", "drained*", "IDLE+X+x", "++*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := parseNodeState(text)
		if s.Base == "" {
			t.Fatal("no base")
		}
		for i, flag := range s.Flags {
			if flag == "" || slices.Contains(s.Flags[:i], flag) {
				t.Fatalf("flags %q", s.Flags)
			}
		}
		if again := parseNodeState(append([]string{s.Base}, s.Flags...)...); again.Base != s.Base {
			t.Fatalf("%+v read again: %+v", s, again)
		}
	})
}

func FuzzParseJobState(f *testing.F) {
	for _, s := range []string{"RUNNING", "CANCELLED by 64201", "COMPLETING", "x+y", " by "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s := parseJobState(text); s.Base == "" {
			t.Fatalf("%+v", s)
		}
	})
}
