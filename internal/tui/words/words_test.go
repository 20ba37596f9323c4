package words

import (
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

func TestSpan(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0:                              "0s",
		12 * time.Second:               "12s",
		4*time.Minute + 10*time.Second: "4m10s",
		4 * time.Minute:                "4m",
		22*time.Minute + 5*time.Second: "22m",
		13*time.Hour + 39*time.Minute:  "13h39m",
		76 * time.Hour:                 "3d4h",
		-90 * time.Second:              "-1m30s",
	} {
		if got := Span(in); got != want {
			t.Errorf("Span(%v) = %q, want %q", in, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for in, want := range map[int]string{0: "0", 999: "999", 1408: "1,408", 1234567: "1,234,567", -1: "-1"} {
		if got := Count(in); got != want {
			t.Errorf("Count(%d) = %q, want %q", in, got, want)
		}
	}
}

// A clock that runs behind must not print an age below zero, and a time that was
// not told must not print the epoch.
func TestAgeOfOddTimes(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	if got := Age(now, now.Add(time.Hour)); got != "0s" {
		t.Errorf("future: %q", got)
	}
	if got := Age(now, time.Time{}); got != None {
		t.Errorf("unknown: %q", got)
	}
	if got := Coarse(now, now.Add(-4*time.Minute-10*time.Second)); got != "4m" {
		t.Errorf("coarse: %q", got)
	}
}

func TestC18_TimeLimitWords(t *testing.T) {
	for want, l := range map[string]fleet.Limit{
		"no limit":    {Kind: fleet.LimitNone},
		"-":           {},
		"partition's": {Kind: fleet.LimitPartition},
		"1d":          {Kind: fleet.LimitSet, Duration: 24 * time.Hour},
	} {
		if got := Limit(l); got != want {
			t.Errorf("Limit(%v) = %q, want %q", l, got, want)
		}
	}
}

func TestC03_CompoundStateIsShownWhole(t *testing.T) {
	n := &fleet.Node{Views: []fleet.View{{Base: "IDLE", Flags: []string{"DYNAMIC_NORM", "MAINTENANCE", "RESERVED", "PLANNED"}}}}
	if got := NodeState(n); got != "IDLE+DYNAMIC_NORM+MAINTENANCE+RESERVED+PLANNED" {
		t.Errorf("NodeState = %q", got)
	}
}

func TestC06_DrainingIsNotDrained(t *testing.T) {
	draining := &fleet.Node{Views: []fleet.View{{Base: "MIXED", Flags: []string{"DRAIN"}}}}
	drained := &fleet.Node{Views: []fleet.View{{Base: "IDLE", Flags: []string{"DRAIN"}}}}
	if a, b := Condition(draining), Condition(drained); a != "draining" || b != "drained" {
		t.Errorf("Condition = %q, %q", a, b)
	}
}

func TestReason(t *testing.T) {
	for want, r := range map[string]fleet.PendingReason{
		"":          {Code: "None"},
		"Resources": {Code: "Resources", Text: "Resources"},
		"ReqNodeNotAvail, UnavailableNodes:gpu-node003": {Code: "ReqNodeNotAvail", Text: "UnavailableNodes:gpu-node003"},
	} {
		if got := Reason(r); got != want {
			t.Errorf("Reason(%v) = %q, want %q", r, got, want)
		}
	}
}
