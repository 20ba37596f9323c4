package detail

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Sources describes every connection, and the scheduler behind it.
func Sources(s *fleet.Snapshot, m words.Moment) Doc {
	var d Doc
	for i := range s.Sources {
		d.connection(&s.Sources[i], m)
		if c := s.Cluster(s.Sources[i].Cluster); c != nil {
			d.cluster(c, m)
		}
	}
	return d
}

func (d *Doc) sourceState(s *fleet.Snapshot, name string, m words.Moment) {
	for i := range s.Sources {
		if s.Sources[i].Name == name {
			d.connection(&s.Sources[i], m)
		}
	}
}

func (d *Doc) connection(src *fleet.SourceState, m words.Moment) {
	d.head("source " + src.Name)
	d.tone("status", string(src.Status), tone.Source(src.Status))
	d.say("kind", strings.TrimSpace(src.Kind+" "+src.Version))
	d.say("via", src.Via)
	d.say("last answer", m.Since(src.LastSuccess))
	d.tone("error", src.LastError, theme.Warn)
	d.say("failing", m.Since(src.ErrorSince))
	d.say("next try", m.Since(src.NextTry))
	d.say("interval", src.Interval.String())
	d.say("cost", src.Cost.String())
	if src.NotUnder > 0 {
		d.tone("not clear", fmt.Sprintf("%s not fully understood", words.Plural(src.NotUnder, "record")), theme.Warn)
	}
}

// skewed is from when on a clock that differs is worth a warning.
const skewed = 5 * time.Second

// cluster tells who we are there, what its clock says, and how its scheduler fares.
func (d *Doc) cluster(c *fleet.Cluster, m words.Moment) {
	d.say("acting as", fmt.Sprintf("%s (%s)", words.Or(c.Identity.User), c.Identity.Role))
	if c.Skew.Abs() >= skewed {
		d.tone("clock", "differs from ours by "+words.Span(c.Skew), theme.Warn)
	}
	for _, p := range c.Partitions {
		d.say("partition", strings.Join([]string{p.Name, p.State, "at most " + words.Limit(p.MaxTime), p.NodeList}, " "))
	}
	for _, r := range c.Reservations {
		d.say("reserved", fmt.Sprintf("%s %s %s until %s", r.Name, r.NodeList, strings.Join(r.Flags, ","), m.Since(r.End)))
	}
	d.stats(c.Stats, m)
}

// busiest is how many kinds of request are listed.
const busiest = 3

func (d *Doc) stats(st *fleet.SchedulerStats, m words.Moment) {
	if st == nil {
		return
	}
	d.say("scheduler", fmt.Sprintf("last cycle %s, mean %s, longest %s, %d jobs looked at", st.CycleLast, st.CycleMean, st.CycleMax, st.QueueDepth))
	d.say("backfill", fmt.Sprintf("last %s, mean %s, %d jobs looked at, ran %s", st.BackfillLast, st.BackfillMean, st.BackfillDepth, m.Since(st.LastBackfill)))
	d.say("load", fmt.Sprintf("%d RPC threads, %d messages to nodes, %d records to slurmdbd wait", st.ServerThreads, st.AgentQueue, st.DBDQueue))
	for _, r := range st.RPCs[:min(busiest, len(st.RPCs))] {
		d.say("busiest", fmt.Sprintf("%s %s times, %s each", r.Name, words.Count(r.Count), r.Mean))
	}
}
