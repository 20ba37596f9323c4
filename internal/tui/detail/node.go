package detail

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/triage"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Node describes a host: what every scheduler says of it, its GPUs with their
// owners, its jobs, and the schedulers' own text.
func Node(s *fleet.Snapshot, n *fleet.Node, m words.Moment) Doc {
	var d Doc
	if n.Disagree != "" {
		d.tone("disagree", n.Disagree, theme.Warn)
	}
	for i := range s.Findings {
		if f := &s.Findings[i]; about(f, n) {
			d.finding(f, m)
		}
	}
	if n.Agent != nil {
		d.strip(n, m)
	}
	for i := range n.Views {
		d.view(s, n.Name, &n.Views[i], m)
	}
	if n.Agent == nil {
		d.gpus(n)
	}
	d.agent(n.Agent, m)
	d.jobsOn(s, n.Name, m)
	d.events(s, fleet.KindNode, n.Name, m)
	for i := range n.Views {
		d.Block(n.Views[i].Cluster+" says", n.Views[i].Raw)
	}
	return d
}

func (d *Doc) view(s *fleet.Snapshot, name string, v *fleet.View, m words.Moment) {
	d.head(v.Cluster + " " + string(v.Kind))
	d.tone("state", words.ViewState(v), tone.Condition(v.Condition()))
	d.source(s.SourceOf(v.Cluster), m)
	d.reason(v, m)
	if v.Node != name {
		d.say("known as", v.Node)
	}
	d.say("GPUs", fmt.Sprintf("%d of %d allocated, %s", v.GPUs.Allocated, v.GPUs.Total, words.Or(v.GPUs.Model)))
	d.say("GRES", gres(v.GRES))
	d.say("in use", gres(v.UsedGRES))
	d.say("CPUs", fmt.Sprintf("%d of %d allocated%s", v.CPUs.Allocated, v.CPUs.Total, load(v.Load)))
	d.say("memory", memory(v.Memory))
	d.say("partitions", words.Queues(v.Queues))
	d.say("reserved", reservation(s, v, m))
	d.say("features", strings.Join(v.Features, ","))
	d.say("address", v.Address)
	d.say("daemon", daemon(v, m))
	d.say("booted", m.Since(v.Booted))
	d.say("last busy", m.Since(v.LastBusy))
	d.say("OS", v.OS)
	d.say("comment", v.Comment)
	for _, o := range v.Oddities {
		d.tone("not clear", o, theme.Warn)
	}
}

// source warns when what is shown may be out of date.
func (d *Doc) source(src *fleet.SourceState, m words.Moment) {
	if src == nil || src.Usable() {
		return
	}
	d.tone("data", fmt.Sprintf("%s: %s old", src.Status, words.Age(m.Now, src.LastSuccess)), theme.Stale)
}

// reason tells why the node is out of service, what that means, and who might put
// it back.
func (d *Doc) reason(v *fleet.View, m words.Moment) {
	if v.Reason.Text == "" {
		return
	}
	d.tone("reason", v.Reason.Text, theme.Warn)
	d.say("set by", words.Or(v.Reason.Author)+", "+m.Since(v.Reason.At))
	e := triage.ExplainNodeReason(v.Reason)
	if e.Known {
		d.say("means", e.Plain)
	}
	d.once("next", e.Advice, theme.Accent)
	if e.UndoneBy != "" {
		d.tone("mind", e.UndoneBy+" may take the drain back without being asked", theme.Warn)
	}
}

func gres(all []fleet.GRES) string {
	parts := make([]string, 0, len(all))
	for _, g := range all {
		parts = append(parts, words.Or(g.Raw))
	}
	return strings.Join(parts, " ")
}

func load(l float64) string {
	if math.IsNaN(l) {
		return ""
	}
	return fmt.Sprintf(", load %.1f", l)
}

func memory(m fleet.MemoryCount) string {
	text := fmt.Sprintf("%s of %s allocated", words.MiB(m.Allocated), words.MiB(m.Total))
	if m.Free >= 0 {
		text += ", " + words.MiB(m.Free) + " free in the system"
	}
	return text
}

func daemon(v *fleet.View, m words.Moment) string {
	if v.DaemonUp.IsZero() {
		return v.Version
	}
	return words.Or(v.Version) + ", up since " + m.Since(v.DaemonUp)
}

func reservation(s *fleet.Snapshot, v *fleet.View, m words.Moment) string {
	if v.Resv == "" {
		return ""
	}
	if c := s.Cluster(v.Cluster); c != nil {
		for _, r := range c.Reservations {
			if r.Name == v.Resv {
				return fmt.Sprintf("%s %s until %s", r.Name, strings.Join(r.Flags, ","), m.Since(r.End))
			}
		}
	}
	return v.Resv
}

// gpus draws the strip of devices by index and says who holds which.
func (d *Doc) gpus(n *fleet.Node) {
	if len(n.GPUs) == 0 {
		return
	}
	d.head("GPUs")
	for i := 0; i < len(n.GPUs); {
		last := i
		for last+1 < len(n.GPUs) && owner(&n.GPUs[last+1]) == owner(&n.GPUs[i]) && n.GPUs[last+1].Model == n.GPUs[i].Model {
			last++
		}
		d.tone(indices(n.GPUs[i].Index, n.GPUs[last].Index), owner(&n.GPUs[i]), ownerTone(&n.GPUs[i]))
		i = last + 1
	}
}

func indices(a, b int) string {
	if a == b {
		return strconv.Itoa(a)
	}
	return fmt.Sprintf("%d-%d", a, b)
}

// owner names who holds a GPU; an owner known by index alone is marked so.
func owner(g *fleet.GPU) string {
	if len(g.Owners) == 0 {
		return "no owner known"
	}
	parts := make([]string, 0, len(g.Owners))
	for i := range g.Owners {
		parts = append(parts, ownerText(&g.Owners[i]))
	}
	return strings.Join(parts, " AND ")
}

func ownerTone(g *fleet.GPU) theme.Name {
	switch len(g.Owners) {
	case 0:
		return theme.Dim
	case 1:
		return theme.Busy
	}
	return theme.Crit
}

func (d *Doc) jobsOn(s *fleet.Snapshot, node string, m words.Moment) {
	jobs := s.JobsOn(node)
	if len(jobs) == 0 {
		return
	}
	d.head(words.Plural(len(jobs), "job") + " here")
	for _, j := range jobs {
		d.tone(j.ID, fmt.Sprintf("%s %s, %s on %s, %s", j.Name, j.User, words.Plural(j.GPUs.Held, "GPU"),
			words.Plural(len(j.Nodes), "node"), runtime(j, m.Now)), tone.Job(j))
	}
}

// runtime is how long a job has run, of how long it may.
func runtime(j *fleet.Job, now time.Time) string {
	if j.Started.IsZero() || j.Waiting() {
		return words.JobState(j)
	}
	return fmt.Sprintf("%s for %s of %s", words.JobState(j), words.Coarse(now, j.Started), words.Limit(j.Limit))
}
