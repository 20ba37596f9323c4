package faults

import (
	"slices"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/pci"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Evidence is what a round of sampling found, to judge faults by.
type Evidence struct {
	At   time.Time
	GPUs []fleet.GPU // as the driver told them
	// Running reports whether the process that had the pid at a moment still runs.
	Running func(pid int, at time.Time) bool
}

// ofApplication are the XIDs that an application causes, by NVIDIA's catalogue
// (RESTART_APP): the device is as good as new once that process has ended.
var ofApplication = []int{8, 11, 13, 25, 31, 32, 39, 40, 41, 43, 45, 60, 68, 69, 80}

// Judge compares the book with what was found: it takes in what the driver reports as
// lasting, remembers who answers where, and clears what is proven gone. An agent that
// was started again has proven nothing.
func (b *Book) Judge(ev Evidence) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range ev.GPUs {
		g := &ev.GPUs[i]
		id, ok := pci.Canonical(g.PCI)
		if !ok {
			continue
		}
		if g.Health.State == fleet.GPUAnswers && g.UUID != "" {
			b.remember(id, g)
			b.takeIn(id, g, ev.At)
		}
		for _, e := range b.entries {
			if e.open() && e.PCI == id {
				b.judge(e, g, &ev)
			}
		}
	}
	b.judgeSwitches(&ev)
	b.forget(ev.At)
}

func (b *Book) remember(id string, g *fleet.GPU) {
	now := Identity{UUID: g.UUID, Model: g.Model, Serial: g.Serial, Index: g.Index, Minor: g.Minor, Boot: b.boot}
	if b.known[id] != now {
		b.known[id] = now
		b.dirty = true
	}
}

// takeIn enters the faults that the driver reports as lasting states.
func (b *Book) takeIn(id string, g *fleet.GPU, at time.Time) {
	for _, f := range g.Faults {
		f.PCI, f.Source, f.First, f.Last = id, SourceDriver, at, at
		if f.Kind == fleet.FaultRecovery {
			b.newAction(id, f.Code, at)
		}
		if e := b.find(id, f.Kind, f.Code); e == nil || at.Sub(e.Last) > time.Minute {
			b.enter(&f).UUID = g.UUID
		}
	}
}

// judge clears a fault that is proven gone. A device that does not answer proves
// nothing.
func (b *Book) judge(e *entry, g *fleet.GPU, ev *Evidence) {
	if g.Health.State != fleet.GPUAnswers || e.Last.After(ev.At) {
		return
	}
	if e.UUID == "" {
		e.UUID = g.UUID
	}
	by := ""
	switch {
	case e.UUID != g.UUID:
		by = "check: another board is in its place"
	case e.Kind == fleet.FaultRecovery:
		if readOK(g, fleet.FaultRecovery) {
			by = "check: the driver asks for nothing any more"
			b.wasReset(e.PCI, ev.At) // by whomever: that is what it had asked for
		}
	case e.Source == SourceDriver:
		if !slices.ContainsFunc(g.Faults, func(f fleet.Fault) bool { return f.Kind == e.Kind && f.Code == e.Code }) {
			by = "check: the driver does not report it any more"
		}
	case anyBad(g):
	case e.BootID != b.boot:
		by = "check: the device answers after a restart of the machine, and nothing is wrong with it"
	case !e.Reset.IsZero():
		by = "check: the device answers after a reset, and nothing is wrong with it"
	case e.Kind == fleet.FaultXID && e.PID > 0 && slices.Contains(ofApplication, e.Code) && !ev.Running(e.PID, e.Last):
		by = "check: the process has ended, and nothing is wrong with the device"
	}
	if by != "" {
		e.clear(ev.At, by)
		b.dirty = true
	}
}

func readOK(g *fleet.GPU, check string) bool {
	return slices.ContainsFunc(g.Checks, func(c fleet.Check) bool { return c.Name == check && c.Result == fleet.CheckOK })
}

func anyBad(g *fleet.GPU) bool {
	return slices.ContainsFunc(g.Checks, func(c fleet.Check) bool { return c.Result == fleet.CheckBad })
}

// judgeSwitches clears the faults of NVSwitches, which cannot be asked here, after a
// restart of the machine in which every GPU is well.
func (b *Book) judgeSwitches(ev *Evidence) {
	for i := range ev.GPUs {
		if ev.GPUs[i].Health.State != fleet.GPUAnswers || anyBad(&ev.GPUs[i]) {
			return
		}
	}
	for _, e := range b.entries {
		if e.open() && e.Kind == fleet.FaultSXID && e.BootID != b.boot && len(ev.GPUs) > 0 {
			e.clear(ev.At, "check: after a restart of the machine every GPU is well")
			b.dirty = true
		}
	}
}

// forget drops what was cleared long ago.
func (b *Book) forget(now time.Time) {
	n := len(b.entries)
	b.entries = slices.DeleteFunc(b.entries, func(e *entry) bool { return !e.open() && now.Sub(e.Cleared) >= keepCleared })
	b.dirty = b.dirty || len(b.entries) != n
}

// Known returns what the device at pci was when it last answered.
func (b *Book) Known(pci string) (Identity, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, ok := b.known[pci]
	return id, ok
}

// PCIOf returns where the board with the UUID is; empty when it was never seen.
func (b *Book) PCIOf(uuid string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, k := range b.known {
		if k.UUID == uuid {
			return id
		}
	}
	return ""
}

// KnownHere lists where devices answered in this boot, in order.
func (b *Book) KnownHere() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, k := range b.known {
		if k.Boot == b.boot {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
