package triage

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// hostTrouble finds what is wrong with the agent of a node, its driver, and its
// devices together.
func hostTrouble(s *fleet.Snapshot) []fleet.Finding {
	agentsDown := false
	for i := range s.Sources {
		agentsDown = agentsDown || s.Sources[i].Kind == "agent" && s.Sources[i].Status == fleet.SourceDown
	}
	var out []fleet.Finding
	for _, n := range s.Nodes {
		if n.Agent == nil {
			continue
		}
		h := host{n, s}
		if n.Agent.Gone != "" && !agentsDown {
			out = append(out, h.gone())
		}
		out = append(out, h.driver()...)
		out = append(out, h.missing()...)
		out = append(out, h.fabric()...)
		out = append(out, h.nvswitch()...)
		out = append(out, h.unlisted()...)
		out = append(out, h.persistence()...)
		out = append(out, h.blind()...)
	}
	return out
}

// host is a node with an agent that is being judged.
type host struct {
	*fleet.Node
	snap *fleet.Snapshot
}

// finding starts a finding about the host. What is wrong with it costs all its GPUs
// and jobs.
func (h host) finding(rule string, sev fleet.Severity, says string) fleet.Finding {
	f := finding(rule, sev, fleet.KindNode, "", h.Name)
	f.Title = h.Name + " " + says
	f.Blast = blastOf(h.snap.JobsOn(h.Name))
	f.Blast.GPUs = max(f.Blast.GPUs, len(h.GPUs))
	if sev != fleet.Info {
		f.Actions = drainWhereOpen(h.Node)
	}
	return f
}

func (h host) check(name string) *fleet.Check {
	for i := range h.Agent.Checks {
		if c := &h.Agent.Checks[i]; c.Name == name && (c.Result == fleet.CheckBad || c.Result == fleet.CheckWarn) {
			return c
		}
	}
	return nil
}

// gone finds an agent that is not reached. It costs nothing but sight; one that is
// only late may be back at once.
func (h host) gone() fleet.Finding {
	f := h.finding(RuleAgentGone, fleet.Warning, "has no agent any more: "+h.Agent.Gone)
	if h.Agent.Status == fleet.SourceStale {
		f.Severity, f.Title = fleet.Info, h.Name+" has an agent that is late: "+h.Agent.Gone
	}
	f.Blast, f.Actions = fleet.Blast{GPUs: len(h.GPUs)}, nil
	f.Since = h.Agent.At
	f.Evidence = []string{"last heard of at " + clock(h.Agent.At)}
	if h.Agent.Via != "" {
		f.Evidence = append(f.Evidence, "reached by "+h.Agent.Via)
	}
	f.Advice = "what is shown of its GPUs is that old; is the node up, is gpuctl agent there"
	return f
}

func (h host) driver() []fleet.Finding {
	c := h.check(fleet.CheckDriver)
	if c == nil {
		return nil
	}
	sev := fleet.Warning
	if len(h.snap.JobsOn(h.Name)) > 0 {
		sev = fleet.Critical
	}
	says := "has an NVIDIA driver that is too old to be watched: " + c.Text
	if h.Agent.Driver == "" {
		says = "has no NVIDIA driver that answers: " + c.Text
	}
	f := h.finding(RuleDriver, sev, says)
	f.Evidence = []string{"driver " + orWhy(h.Agent.Driver, "none") + ", NVML " + orWhy(h.Agent.NVML, "none")}
	f.Advice = "drain the node; nvidia-smi and dmesg on it say more (module not loaded, version mismatch after an update)"
	return []fleet.Finding{f}
}

// silent counts the devices that are listed but do not answer.
func (h host) silent() int {
	n := 0
	for i := range h.GPUs {
		d := device{&h.GPUs[i], h.Node, h.snap}
		if s := d.Health.State; s == fleet.GPULost || s == fleet.GPUMissing || d.offBus() != "" {
			n++
		}
	}
	return n
}

// missing finds boards that the PCI bus should have and the driver does not list,
// beyond those that are known by name to be lost.
func (h host) missing() []fleet.Finding {
	gap := h.Agent.Expected - h.Agent.Present
	if h.Agent.Expected < 0 || gap <= h.silent() || h.check(fleet.CheckDriver) != nil {
		return nil
	}
	f := h.finding(RuleGPUMissing, fleet.Critical, fmt.Sprintf("has %d of %d GPUs: %d missing", h.Agent.Present, h.Agent.Expected, gap))
	var there []string
	for i := range h.GPUs {
		there = append(there, strings.TrimSpace(h.GPUs[i].PCI+" "+h.GPUs[i].UUID))
	}
	f.Evidence = append([]string{fmt.Sprintf("expected %d, present %d", h.Agent.Expected, h.Agent.Present)}, there...)
	f.Advice = "drain the node, look for the board in dmesg and lspci, power-cycle the node"
	return []fleet.Finding{f}
}

// fabric finds devices that are not registered with the NVLink fabric, or a Fabric
// Manager that does not run: one cause for all devices (C79).
func (h host) fabric() []fleet.Finding {
	var bad, texts []string
	for i := range h.GPUs {
		for _, c := range h.GPUs[i].Checks {
			if c.Name == fleet.CheckFabric && c.Result == fleet.CheckBad {
				bad = append(bad, strconv.Itoa(h.GPUs[i].Index))
				texts = append(texts, fmt.Sprintf("GPU %d: %s", h.GPUs[i].Index, c.Text))
			}
		}
	}
	says := "has no working fabric on GPU " + strings.Join(bad, ",")
	if c := h.check(fleet.CheckFabricManager); c != nil {
		says = "has no working Fabric Manager: " + c.Text
	} else if len(bad) == 0 {
		return nil
	}
	f := h.finding(RuleFabric, fleet.Critical, says)
	f.Evidence = texts[:min(len(texts), maxEvidence)]
	f.Advice = "jobs over several GPUs cannot start here: drain the node, restart nvidia-fabricmanager, reset the GPUs when the fabric stays bad"
	return []fleet.Finding{f}
}

// nvswitch finds errors of the node's switches; the worst speaks.
func (h host) nvswitch() []fleet.Finding {
	var faults []*fleet.Fault
	add := func(list []fleet.Fault) {
		for i := range list {
			if f := &list[i]; f.Kind == fleet.FaultSXID && f.IsOpen() {
				faults = append(faults, f)
			}
		}
	}
	add(h.Agent.Faults)
	for i := range h.GPUs {
		add(h.GPUs[i].Faults)
	}
	if len(faults) == 0 {
		return nil
	}
	var worst SXID
	for i, f := range faults {
		x := ExplainSXID(f.Code)
		x.Severity = wordedSeverity(f.Text, x.Severity)
		if i == 0 || x.Severity < worst.Severity {
			worst = x
		}
	}
	f := h.finding(RuleNVSwitch, worst.Severity, fmt.Sprintf("has an NVSwitch error (SXID %d)", worst.Code))
	quote(&f, faults)
	f.Advice = worst.Action
	return []fleet.Finding{f}
}

// unlisted finds faults of devices that the driver does not list at all.
func (h host) unlisted() []fleet.Finding {
	var faults []*fleet.Fault
	severity := fleet.Warning
	for i := range h.Agent.Faults {
		f := &h.Agent.Faults[i]
		if !f.IsOpen() || f.Kind == fleet.FaultSXID {
			continue
		}
		faults = append(faults, f)
		if f.Kind == fleet.FaultOffBus || f.Kind == fleet.FaultXID && ExplainXID(f.Code).Severity == fleet.Critical {
			severity = fleet.Critical
		}
	}
	if len(faults) == 0 {
		return nil
	}
	f := h.finding(RuleGPUFault, severity, "has faults of a GPU that the driver does not list: "+faults[0].PCI)
	quote(&f, faults)
	f.Advice = "drain the node, look for the board in dmesg and lspci, power-cycle the node"
	return []fleet.Finding{f}
}

// persistence finds devices without persistence mode: their counters start again
// whenever the driver unloads.
func (h host) persistence() []fleet.Finding {
	var off []string
	for i := range h.GPUs {
		d := device{&h.GPUs[i], h.Node, h.snap}
		if r := d.check(fleet.CheckPersistence); r == fleet.CheckWarn || r == fleet.CheckBad {
			off = append(off, strconv.Itoa(d.Index))
		}
	}
	if len(off) == 0 && h.check(fleet.CheckPersistence) == nil {
		return nil
	}
	f := h.finding(RulePersistence, fleet.Info, "runs without persistence mode")
	f.Blast = fleet.Blast{GPUs: max(len(off), 1)}
	if len(off) > 0 {
		f.Evidence = []string{"GPU " + strings.Join(off, ",")}
	}
	f.Advice = "enable nvidia-persistenced: without it ECC counters start again when nothing uses the GPU, and jobs start slowly"
	return []fleet.Finding{f}
}

// blind finds an agent that cannot see everything: a fault may go unseen.
func (h host) blind() []fleet.Finding {
	if len(h.Agent.Problems) == 0 {
		return nil
	}
	f := h.finding(RuleAgentBlind, fleet.Info, "is not watched in full: "+h.Agent.Problems[0])
	f.Blast = fleet.Blast{}
	f.Evidence = h.Agent.Problems
	f.Advice = "give the agent what it lacks (root or the groups that its unit names)"
	return []fleet.Finding{f}
}

// clock is a time of day, as evidence quotes it.
func clock(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format("15:04:05Z")
}
