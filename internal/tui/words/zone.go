package words

import (
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/trace"
)

// Zone is one way to show absolute times.
type Zone struct {
	Name string // "utc", "local", or the cluster's name
	Loc  *time.Location
	mark string // behind the time: "Z", "local", the cluster's name
}

// Zones lists the ways to show times: UTC, the operator's own, and every
// cluster's. A cluster that shares a zone with UTC is listed all the same: its
// name tells whose clock is meant.
func Zones(clusters []fleet.Cluster) []Zone {
	zones := []Zone{{Name: "utc", Loc: time.UTC, mark: "Z"}, {Name: "local", Loc: time.Local, mark: " local"}}
	for i := range clusters {
		c := &clusters[i]
		loc := time.FixedZone(c.Name, int(c.Offset/time.Second))
		zones = append(zones, Zone{Name: c.Name, Loc: loc, mark: " " + c.Name})
	}
	return zones
}

// Clock is the time of day, with the zone's mark: 14:03:22Z.
func (z Zone) Clock(t time.Time) string {
	if t.IsZero() {
		return None
	}
	return t.In(z.Loc).Format(time.TimeOnly) + z.mark
}

// Time is the time of day without mark, and with its date when that is not now's.
func (z Zone) Time(now, t time.Time) string {
	if t.IsZero() {
		return None
	}
	t, now = t.In(z.Loc), now.In(z.Loc)
	switch {
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format(time.TimeOnly)
	case t.Year() == now.Year():
		return t.Format("01-02 15:04:05")
	}
	return t.Format(time.DateTime)
}

// Stamp is date and time with the zone's mark.
func (z Zone) Stamp(t time.Time) string {
	if t.IsZero() {
		return None
	}
	return t.In(z.Loc).Format(time.DateTime) + z.mark
}

// Moment is when, and on whose clock, the screen is shown.
type Moment struct {
	Now  time.Time
	Zone Zone
	Past *trace.Log // the last readings of GPUs; may be nil
}

// Since writes a time with its age: "2026-11-30 13:59:12Z (4m ago)".
func (m Moment) Since(t time.Time) string {
	if t.IsZero() {
		return None
	}
	if t.After(m.Now) {
		return m.Zone.Stamp(t) + " (in " + Span(t.Sub(m.Now)) + ")"
	}
	return m.Zone.Stamp(t) + " (" + Coarse(m.Now, t) + " ago)"
}
