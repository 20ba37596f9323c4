package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// noTime are the words Slurm writes where there is no time.
var noTime = map[string]bool{
	"": true, "NONE": true, "N/A": true, "UNKNOWN": true, "(NULL)": true, "INVALID": true,
	"NEVER": true, "NOT_SET": true,
}

// parseTime reads a time of the pinned format (SLURM_TIME_FORMAT=standard, in
// UTC). Words for "no time" are the zero time, as is 1970, which stands for a time
// that was never set; so is anything else, with an error that says what was there.
func parseTime(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if noTime[strings.ToUpper(text)] {
		return time.Time{}, nil
	}
	t, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q is not understood", text)
	}
	if t.Unix() <= 0 {
		return time.Time{}, nil
	}
	return t, nil
}

// maxDays bounds what is believed of a duration, and keeps it from overflow.
const maxDays = 36500

// ParseDuration reads a Slurm duration: minutes, minutes:seconds,
// hours:minutes:seconds, days-hours, days-hours:minutes or
// days-hours:minutes:seconds.
func ParseDuration(text string) (time.Duration, error) {
	s, ok := durationSeconds(text)
	if !ok || s > maxDays*86400 {
		return 0, fmt.Errorf("duration %q is not understood", text)
	}
	return time.Duration(s) * time.Second, nil
}

func durationSeconds(text string) (s int64, ok bool) {
	days, rest, hasDays := strings.Cut(strings.TrimSpace(text), "-")
	if !hasDays {
		days, rest = "0", days
	}
	parts := strings.Split(days+":"+rest, ":")
	n := make([]int64, len(parts))
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 31)
		if err != nil {
			return 0, false
		}
		n[i] = int64(v)
	}
	switch {
	case hasDays && len(n) <= 4:
		n = append(n, 0, 0)
		return n[0]*86400 + n[1]*3600 + n[2]*60 + n[3], true
	case len(n) == 2:
		return n[1] * 60, true
	case len(n) == 3:
		return n[1]*60 + n[2], true
	case len(n) == 4:
		return n[1]*3600 + n[2]*60 + n[3], true
	}
	return 0, false
}

// ParseLimit reads a time limit: a duration, or one of Slurm's words. What is not
// understood is an unknown limit, with an error that says what was there.
func ParseLimit(text string) (fleet.Limit, error) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "UNLIMITED", "INFINITE", "-1":
		return fleet.Limit{Kind: fleet.LimitNone}, nil
	case "PARTITION_LIMIT":
		return fleet.Limit{Kind: fleet.LimitPartition}, nil
	case "", "INVALID", "NOT_SET", "N/A", "NONE", "UNKNOWN", "(NULL)":
		return fleet.Limit{}, nil
	}
	d, err := ParseDuration(text)
	if err != nil {
		return fleet.Limit{}, err
	}
	return fleet.Limit{Kind: fleet.LimitSet, Duration: d}, nil
}
