package nvml

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// remembered holds the last sample of every device, so that one which no longer answers
// keeps its identity.
type remembered struct {
	gpus    map[string]fleet.GPU       // by UUID, as they last answered
	indices map[int]string             // UUID at an index
	health  map[string]fleet.GPUHealth // by UUID, else index
	present int                        // devices that the driver counted; -1: not yet
}

func newRemembered() *remembered {
	return &remembered{gpus: map[string]fleet.GPU{}, indices: map[int]string{}, health: map[string]fleet.GPUHealth{}, present: -1}
}

// answered takes in a device that answers.
func (m *remembered) answered(g *fleet.GPU) fleet.GPU {
	m.indices[g.Index] = g.UUID
	g.Health = m.since(g.UUID, g.Health.State, "", g.At)
	m.gpus[g.UUID] = *g
	return *g
}

// silent is the row of a device that does not answer: who it was, when it last
// answered, and what it was cut into and held by then. Readings are gone.
func (m *remembered) silent(index int, state fleet.GPUState, why string, now time.Time) fleet.GPU {
	g, ok := m.last(index)
	if !ok {
		g = fleet.GPU{Minor: -1}
	}
	g.Index = index
	unread(&g, why)
	g.Health = m.since(cmp.Or(g.UUID, strconv.Itoa(index)), state, why, now)
	return g
}

func unread(g *fleet.GPU, why string) {
	none := fleet.Absent(fleet.Unreadable, why)
	g.Temp, g.Power, g.PowerCap, g.Util, g.MemUsed, g.SMClock = none, none, none, none, none, none
	g.Checks, g.Faults = nil, nil
}

func (m *remembered) since(key string, state fleet.GPUState, why string, now time.Time) fleet.GPUHealth {
	h := m.health[key]
	if h.State != state {
		h.Since = now
	}
	h.State, h.Why = state, why
	m.health[key] = h
	return h
}

// counted notes how many devices the driver counts. With another number, indices mean
// other devices.
func (m *remembered) counted(n int) (changed bool) {
	changed = m.present >= 0 && m.present != n
	if changed {
		clear(m.indices)
	}
	m.present = n
	return changed
}

// missing are rows of devices that answered once and have no row now.
func (m *remembered) missing(rows []fleet.GPU, now time.Time) []fleet.GPU {
	const why = "the driver no longer counts it"
	var list []fleet.GPU
	for uuid, g := range m.gpus {
		if slices.ContainsFunc(rows, func(r fleet.GPU) bool { return r.UUID == uuid }) {
			continue
		}
		unread(&g, why)
		g.Health = m.since(uuid, fleet.GPUMissing, why, now)
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b fleet.GPU) int { return cmp.Compare(a.PCI, b.PCI) })
	return list
}

// last is the last answer of the device at an index.
func (m *remembered) last(index int) (fleet.GPU, bool) {
	g, ok := m.gpus[m.indices[index]]
	return g, ok
}

// indexOf finds a device by its UUID.
func (m *remembered) indexOf(uuid string) (int, bool) {
	for i, u := range m.indices {
		if u == uuid {
			return i, true
		}
	}
	return 0, false
}
