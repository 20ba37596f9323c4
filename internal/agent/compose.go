package agent

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/pci"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// compose makes the state out of what was found. Hold mu.
func (s *Sampler) compose(now time.Time) *State {
	state := &State{At: now, GPUs: s.gpus(now)}
	present, seen := 0, []string{}
	for i := range state.GPUs {
		if g := &state.GPUs[i]; g.Health.State != fleet.GPUMissing {
			present++
		}
		seen = append(seen, state.GPUs[i].PCI)
	}
	sample := &s.found.sample
	state.Node = fleet.AgentInfo{
		Version: s.opts.Version, Host: s.name, Machine: s.machine, BootID: s.boot,
		Driver: sample.Driver, CUDA: sample.CUDA, NVML: sample.NVML, Expected: s.expected(), Present: present,
		Checks: s.nodeChecks(state.GPUs), Faults: s.book.Others(seen, now), Boards: s.found.boards, Problems: s.troubles(now), At: now,
	}
	return state
}

// gpus are the devices that the driver tells and those that it should. Hold mu.
func (s *Sampler) gpus(now time.Time) []fleet.GPU {
	out := slices.Clone(s.found.sample.GPUs)
	for i := range out {
		g := &out[i]
		g.Node = s.name
		if id, ok := pci.Canonical(g.PCI); ok {
			g.PCI = id
		}
		if g.At.IsZero() && g.Health.State == fleet.GPUAnswers {
			g.At = s.found.sample.At
		}
		s.doubt(g, now)
		s.own(g)
	}
	out = append(out, s.missing(out, now)...)
	for i := range out {
		out[i].Faults = s.book.Of(out[i].PCI, now)
	}
	slices.SortStableFunc(out, func(a, b fleet.GPU) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

// doubt marks a device whose driver has not answered for a while: the last sample says
// nothing of now.
func (s *Sampler) doubt(g *fleet.GPU, now time.Time) {
	silence := now.Sub(s.found.since)
	if s.paused != "" || silence < 4*s.opts.Interval || g.Health.State != fleet.GPUAnswers {
		return
	}
	g.Health = fleet.GPUHealth{State: fleet.GPUHanging, Since: s.found.since, Why: "the driver does not answer"}
	if s.found.err != nil {
		g.Health.Why = s.found.err.Error()
	}
}

// own gives a device and its instances the owners of its processes. A process whose
// owner is not known makes an owner without a job: the device is not free.
func (s *Sampler) own(g *fleet.GPU) {
	g.Owners = nil
	g.Processes = slices.Clone(g.Processes)
	g.MIG.Instances = slices.Clone(g.MIG.Instances)
	for k := range g.MIG.Instances {
		g.MIG.Instances[k].Owners = nil
	}
	for i := range g.Processes {
		p := &g.Processes[i]
		p.Owner = s.found.owners[p.PID]
		g.Owners = addOwner(g.Owners, p.Owner)
		for k := range g.MIG.Instances {
			if in := &g.MIG.Instances[k]; in.ID == p.Instance {
				in.Owners = addOwner(in.Owners, p.Owner)
			}
		}
	}
}

func addOwner(owners []fleet.Owner, o fleet.Owner) []fleet.Owner {
	same := func(have fleet.Owner) bool {
		have.At = o.At
		return have == o
	}
	if slices.ContainsFunc(owners, same) {
		return owners
	}
	return append(owners, o)
}

// missing are the devices that should be there and that the driver does not tell, with
// what they were when they last answered. Hold mu.
func (s *Sampler) missing(told []fleet.GPU, now time.Time) []fleet.GPU {
	var out []fleet.GPU
	since := map[string]time.Time{}
	next := 0
	for i := range told {
		next = max(next, told[i].Index+1)
	}
	for _, id := range s.wanted() {
		if slices.ContainsFunc(told, func(g fleet.GPU) bool { return g.PCI == id }) || s.found.since.IsZero() && s.found.err == nil {
			continue
		}
		g := fleet.GPU{Node: s.name, PCI: id, Index: next, Minor: -1}
		if k, ok := s.book.Known(id); ok {
			g.UUID, g.Model, g.Serial, g.Minor = k.UUID, k.Model, k.Serial, k.Minor
			if !slices.ContainsFunc(told, func(t fleet.GPU) bool { return t.Index == k.Index }) {
				g.Index = k.Index
			}
		}
		next = max(next, g.Index) + 1
		if since[id] = s.found.missing[id]; since[id].IsZero() {
			since[id] = now
		}
		g.Health = fleet.GPUHealth{State: fleet.GPUMissing, Since: since[id], Why: s.whyMissing()}
		out = append(out, g)
	}
	s.found.missing = since
	return out
}

func (s *Sampler) whyMissing() string {
	if s.found.err != nil {
		return s.found.err.Error()
	}
	return "on the PCI bus, and the driver does not list it"
}

// wanted lists where devices should be: what the PCI bus has, and what has answered in
// this boot. Hold mu.
func (s *Sampler) wanted() []string {
	ids := s.book.KnownHere()
	for _, d := range s.found.devices {
		if d.IsGPU() && !slices.Contains(ids, d.ID) {
			ids = append(ids, d.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// expected is how many devices there should be; -1 when nobody can tell. Hold mu.
func (s *Sampler) expected() int {
	if !s.found.scanned || s.found.since.IsZero() && s.found.err == nil {
		return -1
	}
	return len(s.wanted())
}

// nodeChecks are the checks of the machine as a whole. Hold mu.
func (s *Sampler) nodeChecks(gpus []fleet.GPU) []fleet.Check {
	checks := []fleet.Check{s.driverCheck()}
	if s.found.manager.Name != "" {
		checks = append(checks, s.found.manager)
	}
	if c, ok := persistence(gpus); ok {
		checks = append(checks, c)
	}
	return checks
}

func (s *Sampler) driverCheck() fleet.Check {
	c := fleet.Check{Name: fleet.CheckDriver, Result: fleet.CheckOK, Text: "driver " + s.found.sample.Driver}
	switch {
	case s.found.err != nil:
		c.Result, c.Text = fleet.CheckBad, s.found.err.Error()
	case s.found.since.IsZero():
		c.Result, c.Text = fleet.CheckUnreadable, "the driver has not answered yet"
	}
	return c
}

// persistence sums the devices up: without persistence mode counters are lost whenever
// nobody uses a device.
func persistence(gpus []fleet.GPU) (fleet.Check, bool) {
	var on, off []int
	for i := range gpus {
		for _, c := range gpus[i].Checks {
			switch {
			case c.Name != fleet.CheckPersistence:
			case c.Result == fleet.CheckOK:
				on = append(on, gpus[i].Index)
			case c.Result == fleet.CheckWarn || c.Result == fleet.CheckBad:
				off = append(off, gpus[i].Index)
			}
		}
	}
	c := fleet.Check{Name: fleet.CheckPersistence, Result: fleet.CheckOK, Text: fmt.Sprintf("on for %d GPUs", len(on))}
	if len(off) > 0 {
		c.Result, c.Text = fleet.CheckWarn, fmt.Sprintf("off for GPUs %v", off)
	}
	return c, len(on)+len(off) > 0
}
