package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// What a timeline event of a device or an agent is about.
const (
	eventAgent = "agent"
	eventGPU   = "gpu"
	eventMIG   = "mig"
)

// host tells what changed on a host that an agent speaks of. What was so when it was
// first heard of is no news.
func (d *differ) host(before, after *HostReport) {
	if before == nil {
		return
	}
	if before.Gone != after.Gone && (before.Gone == "" || after.Gone == "") {
		d.agents = append(d.agents, agentChange{host: after.Host, before: agentWords(before), after: agentWords(after)})
	}
	node := Subject{Kind: KindNode, Name: after.Host}
	if b, a := before.Agent.BootID, after.Agent.BootID; b != a && b != "" && a != "" {
		d.event(node, eventAgent, "", "rebooted", "")
	}
	d.faults(node, before.Agent.Faults, after.Agent.Faults)
	if !sharesGPUs(before.GPUs, after.GPUs) {
		d.devices(before.GPUs, after.GPUs)
	}
}

// sharesGPUs reports whether two lists are one and the same.
func sharesGPUs(a, b []GPU) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// agentChange is that an agent was lost or came back. Those of one update are told
// together: a broken login node takes hundreds of them.
type agentChange struct{ host, before, after string }

func agentWords(r *HostReport) string {
	if r.Gone == "" {
		return "reached"
	}
	return "lost: " + r.Gone
}

// tellAgents makes an event for each way in which agents changed.
func (d *differ) tellAgents() {
	hosts := map[agentChange][]string{}
	for _, c := range d.agents {
		key := agentChange{before: c.before, after: c.after}
		if c.after == "reached" {
			key.before = "" // whatever the reasons were
		}
		hosts[key] = append(hosts[key], c.host)
	}
	d.agents = nil
	keys := slices.SortedFunc(maps.Keys(hosts), func(a, b agentChange) int {
		return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.before, b.before))
	})
	for _, key := range keys {
		if names := hosts[key]; len(names) == 1 {
			d.event(Subject{Kind: KindNode, Name: names[0]}, eventAgent, key.before, key.after, "")
		} else {
			subject := Subject{Kind: KindSource, Name: d.source}
			d.event(subject, eventAgent, key.before, FoldHosts(names)+" "+key.after, "")
		}
	}
}

// devices tells what changed on each device of a host.
func (d *differ) devices(before, after []GPU) {
	former := make(map[string]*GPU, len(before))
	for i := range before {
		former[before[i].ID()] = &before[i]
	}
	for i := range after {
		now := &after[i]
		was := former[now.ID()]
		delete(former, now.ID())
		if was == nil {
			d.event(gpuSubject(now), eventGPU, "", "listed as GPU "+strconv.Itoa(now.Index)+" of "+now.Node, "")
			continue
		}
		d.device(was, now)
	}
	for _, id := range slices.Sorted(maps.Keys(former)) {
		was := former[id]
		d.event(gpuSubject(was), eventGPU, "GPU "+strconv.Itoa(was.Index)+" of "+was.Node, "no longer listed", "")
	}
}

func (d *differ) device(was, now *GPU) {
	subject := gpuSubject(now)
	if was.Health.State != now.Health.State {
		d.event(subject, eventGPU, string(was.Health.State), healthWords(now), "")
	}
	d.faults(subject, was.Faults, now.Faults)
	if b, a := migWords(&was.MIG), migWords(&now.MIG); b != a && b != "" && a != "" {
		d.event(subject, eventMIG, b, a, "")
	}
}

func gpuSubject(g *GPU) Subject { return Subject{Kind: KindGPU, Name: g.ID()} }

// healthWords is a device's state with its place, which people know better than its id.
func healthWords(g *GPU) string {
	s := fmt.Sprintf("%s: GPU %d of %s", g.Health.State, g.Index, g.Node)
	if g.Health.Why != "" {
		s += ", " + g.Health.Why
	}
	return s
}

// faultKey is what makes two records one fault.
type faultKey struct {
	kind string
	code int
	boot string
}

func keyOfFault(f *Fault) faultKey { return faultKey{f.Kind, f.Code, f.BootID} }

// faults tells new faults, those that came again after they were cleared, and those
// cleared. That a fault goes on is no news.
func (d *differ) faults(subject Subject, before, after []Fault) {
	if slices.Equal(before, after) {
		return
	}
	former := make(map[faultKey]*Fault, len(before))
	for i := range before {
		former[keyOfFault(&before[i])] = &before[i]
	}
	for i := range after {
		f := &after[i]
		was := former[keyOfFault(f)]
		switch {
		case f.IsOpen() && (was == nil || !was.IsOpen()):
			d.event(subject, f.Kind, "", faultWords(f), "")
		case !f.IsOpen() && was != nil && was.IsOpen():
			d.event(subject, f.Kind, faultWords(f), "cleared", f.By)
		}
	}
}

func faultWords(f *Fault) string {
	if f.Code == 0 {
		return f.Text
	}
	return strings.TrimSpace(strconv.Itoa(f.Code) + " " + f.Text)
}

// migWords is a layout as people write it: "3g.40gb@0,2g.20gb@4", with the mode where
// that says more. Without an answer of the device it says nothing.
func migWords(m *MIGState) string {
	switch {
	case m.Current == MIGUnknown:
		return ""
	case m.Pending != MIGUnknown && m.Pending != m.Current:
		return fmt.Sprintf("%s, %s pending", m.Current, m.Pending)
	case len(m.Instances) == 0:
		return string(m.Current)
	}
	words := make([]string, len(m.Instances))
	for i := range m.Instances {
		words[i] = fmt.Sprintf("%s@%d", m.Instances[i].Profile, m.Instances[i].Start)
	}
	return strings.Join(words, ",")
}
