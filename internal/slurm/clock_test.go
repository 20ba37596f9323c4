package slurm

import (
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

func TestC17_Times(t *testing.T) {
	got, err := parseTime("2026-11-30T19:47:55")
	if want := time.Date(2026, 11, 30, 19, 47, 55, 0, time.UTC); err != nil || !got.Equal(want) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, none := range []string{"", "None", "N/A", "Unknown", "(null)", "INVALID", "none", "Never"} {
		if got, err := parseTime(none); !got.IsZero() || err != nil {
			t.Errorf("%q: got %v, %v", none, got, err)
		}
	}
	for _, odd := range []string{"14:24:22", "Tomorr 14:24", "30 Nov 14:24", "1764532800", "2026-13-01T00:00:00"} {
		if got, err := parseTime(odd); !got.IsZero() || err == nil {
			t.Errorf("%q: got %v, %v", odd, got, err)
		}
	}
}

func TestC18_TimeLimits(t *testing.T) {
	set := func(d time.Duration) fleet.Limit { return fleet.Limit{Kind: fleet.LimitSet, Duration: d} }
	const day = 24 * time.Hour
	for in, want := range map[string]fleet.Limit{
		"UNLIMITED":       {Kind: fleet.LimitNone},
		"INVALID":         {},
		"NOT_SET":         {},
		"Partition_Limit": {Kind: fleet.LimitPartition},
		"365-00:00:00":    set(365 * day),
		"1-02":            set(26 * time.Hour),
		"1-02:03":         set(26*time.Hour + 3*time.Minute),
		"30:00":           set(30 * time.Minute),
		"0:00":            set(0),
		"2:00:00":         set(2 * time.Hour),
		"90":              set(90 * time.Minute),
		"":                {},
	} {
		if got, err := ParseLimit(in); got != want || err != nil {
			t.Errorf("%q: got %+v, %v, want %+v", in, got, err, want)
		}
	}
	for _, odd := range []string{"soon", "1-2-3", "1:2:3:4", "-5", "1--2", "99999999999", "2147483647-00"} {
		if got, err := ParseLimit(odd); got.Kind != fleet.LimitUnknown || err == nil {
			t.Errorf("%q: got %+v, %v", odd, got, err)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	f.Add("2026-11-30T19:47:55")
	f.Add("Unknown")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := parseTime(text); err != nil && !got.IsZero() {
			t.Fatalf("%v with %v", got, err)
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"365-00:00:00", "1-02", "30:00", "90", "1-1:1:1:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseDuration(text); d < 0 || d > maxDays*24*time.Hour || err != nil && d != 0 {
			t.Fatalf("%v, %v", d, err)
		}
	})
}
