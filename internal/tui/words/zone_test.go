package words

import (
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

func TestZones(t *testing.T) {
	now := time.Date(2026, time.November, 30, 2, 3, 22, 0, time.UTC)
	zones := Zones([]fleet.Cluster{{Name: "ai", Offset: -5 * time.Hour}})
	if len(zones) != 3 {
		t.Fatalf("zones = %v", zones)
	}
	for want, got := range map[string]string{
		"02:03:22Z":            zones[0].Clock(now),
		"21:03:22 ai":          zones[2].Clock(now),
		"11-29 20:03:22":       zones[0].Time(now, now.Add(-6*time.Hour)),
		"20:03:22":             zones[2].Time(now, now.Add(-time.Hour)),
		"2025-11-30 02:03:22":  zones[0].Time(now, now.AddDate(-1, 0, 0)),
		"2026-11-30 02:03:22Z": zones[0].Stamp(now),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := zones[0].Time(now, time.Time{}); got != None {
		t.Errorf("unknown time: %q", got)
	}
}
