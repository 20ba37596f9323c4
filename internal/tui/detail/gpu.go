package detail

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/triage"
	"github.com/gpuctl/gpuctl/internal/tui/migbar"
	"github.com/gpuctl/gpuctl/internal/tui/spark"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// GPU describes a device: what is wrong with it, its readings, who holds it, how it
// is partitioned, and what its checks and faults say.
func GPU(s *fleet.Snapshot, n *fleet.Node, g *fleet.GPU, m words.Moment) Doc {
	var d Doc
	for _, f := range findingsOf(s, fleet.KindGPU, g.ID()) {
		d.finding(f, m)
	}
	d.head(fmt.Sprintf("GPU %d of %s", g.Index, n.Name))
	d.tone("state", words.GPUState(g), tone.GPU(g))
	d.say("why", g.Health.Why)
	d.say("since", m.Since(g.Health.Since))
	d.say("model", g.Model)
	d.say("UUID", g.UUID)
	d.say("PCI", g.PCI)
	if g.Minor >= 0 {
		d.say("minor", "/dev/nvidia"+strconv.Itoa(g.Minor))
	}
	d.say("serial", g.Serial)
	d.say("VBIOS", g.VBIOS)
	d.readings(n, g, m)
	d.heldBy(n, g)
	d.mig(g)
	d.checks(g.Checks)
	d.faults(g, m)
	d.agent(n.Agent, m)
	d.events(s, fleet.KindGPU, g.ID(), m)
	return d
}

// readings writes what was measured, with what came before where that is known.
func (d *Doc) readings(n *fleet.Node, g *fleet.GPU, m words.Moment) {
	if g.Health.State == fleet.GPUUnwatched {
		return
	}
	d.head("readings of " + words.Age(m.Now, n.ReadAt(g)) + " ago")
	past := m.Past.Of(g.UUID)
	d.reading("temp", of(words.Reading(g.Temp, " C"), words.Reading(g.TempLimit, " C")), tone.Temp(g), past.Temp, top(g.TempLimit, 100))
	d.reading("power", of(words.Reading(g.Power, " W"), words.Reading(g.PowerCap, " W")), theme.Text, past.Power, top(g.PowerCap, 1000))
	d.reading("busy", words.Util(g), theme.Text, past.Util, 100)
	d.reading("memory", words.GPUMemory(g), theme.Text, nil, 0)
	d.reading("SM clock", words.Reading(g.SMClock, " MHz"), theme.Text, nil, 0)
	if g.Silent() {
		return // why is said above
	}
	for _, r := range []struct {
		name string
		fleet.Reading
	}{{"temp", g.Temp}, {"power", g.Power}, {"busy", g.Util}, {"memory", g.MemUsed}} {
		if r.Quality == fleet.Unreadable && r.Why != "" {
			d.tone("not read", r.name+": "+r.Why, theme.Warn)
		}
	}
}

// of is a value with its bound, where one is known.
func of(value, bound string) string {
	if bound == words.None || bound == "n/a" || bound == words.Unknown {
		return value
	}
	return value + " of " + bound
}

func top(r fleet.Reading, otherwise float64) float64 {
	if r.Quality == fleet.Known && r.Value > 0 {
		return r.Value
	}
	return otherwise
}

// reading is a value, and behind it a line of its past as long as there is room for.
func (d *Doc) reading(label, text string, t theme.Name, past []float64, most float64) {
	if len(past) < 2 || text == words.None {
		d.tone(label, text, t)
		return
	}
	*d = append(*d, Line{Label: label, Text: text, Tone: t, Tail: func(th *theme.Theme, width int) string {
		return th.Paint(theme.Dim, spark.Line(th.Glyphs, past, most, min(width, len(past))))
	}})
}

// heldBy says who holds the device, and which processes are on it.
func (d *Doc) heldBy(n *fleet.Node, g *fleet.GPU) {
	d.head("held by")
	switch n.UseOf(g) {
	case fleet.UseFree:
		d.tone("", "nobody: it is free", theme.Free)
	case fleet.UseUnknown:
		d.tone("", "somebody that cannot be named, or nobody can tell; it does not count as free", theme.Warn)
	case fleet.UseHeld:
		for i := range g.Owners {
			d.tone("job", ownerText(&g.Owners[i]), ownerTone(g))
		}
		for _, in := range fleet.ByPlace(g.MIG.Instances) {
			for i := range in.Owners {
				d.tone(in.Profile, "job "+ownerText(&in.Owners[i]), theme.Busy)
			}
		}
	}
	for _, p := range g.Processes {
		text := fmt.Sprintf("%s, %s", words.Or(p.Name), words.Bytes(p.Bytes))
		if p.Owner.Job.ID == "" {
			text += ", owner unknown"
		} else {
			text += ", job " + p.Owner.Job.ID
		}
		d.say("pid "+strconv.Itoa(p.PID), text)
	}
}

// ownerText names a holder, and how sure that is.
func ownerText(o *fleet.Owner) string {
	text := strings.TrimSpace(fmt.Sprintf("%s %s %s", words.Or(o.Job.ID), o.Name, o.User))
	if !o.Proven {
		text += " (by index, unproven)"
	}
	return text
}

// mig draws the partitions to scale and lists them.
func (d *Doc) mig(g *fleet.GPU) {
	if g.MIG.Current == fleet.MIGUnknown || g.MIG.Current == fleet.MIGUnsupported {
		return
	}
	d.head("MIG")
	d.say("mode", string(g.MIG.Current))
	if g.MIG.Pending != g.MIG.Current {
		d.tone("pending", string(g.MIG.Pending)+": needs a reset of the GPU or a reboot", theme.Warn)
	}
	if g.MIG.Current != fleet.MIGEnabled {
		return
	}
	d.migBar(g, "")
	for _, in := range fleet.ByPlace(g.MIG.Instances) {
		d.say(in.Profile, instanceText(&in))
	}
}

// migBar draws the partitions of a device to scale.
func (d *Doc) migBar(g *fleet.GPU, label string) {
	parts := migbar.Parts(g.MIG.Instances, func(in *fleet.MIGInstance) theme.Name { return tone.Use(g.UseOfInstance(in)) })
	*d = append(*d, Line{Label: label, Text: words.Profiles(g.MIG.Instances), Draw: func(th *theme.Theme, width int) string {
		return migbar.Draw(th, migbar.Slices(g.MIG), parts, width)
	}})
}

func instanceText(in *fleet.MIGInstance) string {
	text := fmt.Sprintf("instance %d, slice %s", in.ID, indices(in.Start, in.Start+in.Size-1))
	if in.Bytes > 0 {
		text += ", " + words.InstanceMemory(in)
	}
	if len(in.CIs) == 0 {
		text += ", no compute instance"
	}
	if in.UUID != "" {
		text += ", " + in.UUID
	}
	return text
}

// checks lists what was checked, what is wrong first.
func (d *Doc) checks(all []fleet.Check) {
	var fine []fleet.Check
	headed := false
	for _, c := range all {
		if c.Result != fleet.CheckBad && c.Result != fleet.CheckWarn {
			fine = append(fine, c)
			continue
		}
		if !headed {
			d.head("checks")
			headed = true
		}
		d.tone(c.Name, string(c.Result)+": "+c.Text, tone.Check(c.Result))
	}
	if len(fine) > 0 && !headed {
		d.head("checks")
	}
	for _, c := range fine {
		d.tone(c.Name, strings.TrimSuffix(string(c.Result)+", "+c.Text, ", "), tone.Check(c.Result))
	}
}

// faults lists what happened to the device, with what each XID means and asks for;
// what was cleared last.
func (d *Doc) faults(g *fleet.GPU, m words.Moment) {
	if len(g.Faults) == 0 {
		return
	}
	d.head("faults")
	for i := range g.Faults {
		if f := &g.Faults[i]; f.IsOpen() {
			d.fault(f, m)
		}
	}
	for i := range g.Faults {
		if f := &g.Faults[i]; !f.IsOpen() {
			d.tone(words.FaultName(f), fmt.Sprintf("cleared %s by %s", m.Since(f.Cleared), words.Or(f.By)), theme.Dim)
		}
	}
}

func (d *Doc) fault(f *fleet.Fault, m words.Moment) {
	severity, means, next := fleet.Warning, "", ""
	switch f.Kind {
	case fleet.FaultXID:
		x := triage.ExplainXID(f.Code)
		severity, means, next = x.Severity, x.Meaning, x.Action
	case fleet.FaultSXID:
		x := triage.ExplainSXID(f.Code)
		severity, next = x.Severity, x.Action
	case fleet.FaultRecovery:
		r := triage.ExplainRecovery(f.Code)
		severity, means, next = r.Severity, r.Name, r.Asks
	}
	d.tone(words.FaultName(f), words.Or(strings.TrimSpace(means)), tone.Severity(severity))
	d.say("log", f.Text)
	when := m.Since(f.Last)
	if f.Count > 1 {
		when = fmt.Sprintf("%d times from %s to %s", f.Count, m.Zone.Time(m.Now, f.First), when)
	}
	d.say("seen", when)
	if f.PID != 0 {
		d.say("process", fmt.Sprintf("%d %s", f.PID, f.Process))
	}
	d.once("next", next, theme.Accent)
}

// agent says who watches the devices, and how well.
func (d *Doc) agent(a *fleet.AgentInfo, m words.Moment) {
	if a == nil {
		return
	}
	d.head("agent")
	if a.Gone != "" {
		d.tone("gone", a.Gone, theme.Warn)
	}
	d.say("heard of", m.Since(a.At))
	d.say("by", a.Via)
	if a.Via == fleet.ViaSMI {
		d.tone("mind", "no agent is on the node: no faults, no owners, no XIDs are seen", theme.Warn)
	}
	d.say("version", a.Version)
	d.say("driver", strings.TrimSuffix(words.Or(a.Driver)+", CUDA "+a.CUDA, ", CUDA "))
	if a.Expected >= 0 && a.Via != fleet.ViaSMI {
		d.say("GPUs", fmt.Sprintf("%d of %d", a.Present, a.Expected))
	}
	for _, p := range a.Problems {
		d.tone("blind", p, theme.Warn)
	}
	for _, c := range a.Checks {
		d.tone(c.Name, strings.TrimSuffix(string(c.Result)+", "+c.Text, ", "), tone.Check(c.Result))
	}
}
