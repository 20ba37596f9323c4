// Package trace keeps the last readings of GPUs for sparklines: bounded, in memory,
// gone with the console. Prometheus has the history that lasts.
//
// A Log is used by one goroutine. It imports fleet only.
package trace

import (
	"math"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

const (
	// Every is the time that one point stands for.
	Every = 10 * time.Second
	// Points is how many are kept: ten minutes.
	Points = 60
	// maxDevices bounds the memory of a Log to about 12 MB; devices beyond it have no
	// history.
	maxDevices = 16_384
)

// Log is the history of many devices. The zero Log is empty and ready; so is nil, for
// reading.
type Log struct {
	devices map[string]*ring // by UUID
	at      time.Time        // of the newest snapshot
	next    int              // node to look at
	round   uint64           // counts the walks over all nodes
}

// Past is a device's readings, oldest first, equally many of each. What was not read
// is not a number.
type Past struct{ Util, Temp, Power []float64 }

// ring is the points of one device.
type ring struct {
	points [Points][3]float32
	next   int // where the next point goes
	n      int
	opened time.Time // when the newest point began
	at     time.Time // of the newest reading
	round  uint64    // in which the device was there
}

// Feed takes readings of a snapshot: of as many nodes as are due, so that a large fleet
// is walked over once in the time of a point, and no snapshot pays for all of it.
func (l *Log) Feed(s *fleet.Snapshot) {
	if l.devices == nil {
		l.devices = map[string]*ring{}
		l.at = s.At.Add(-Every)
	}
	due := min(1, s.At.Sub(l.at).Seconds()/Every.Seconds())
	if due <= 0 || len(s.Nodes) == 0 {
		return
	}
	l.at = s.At
	for range int(math.Ceil(due * float64(len(s.Nodes)))) {
		if l.next >= len(s.Nodes) {
			l.next = 0
			l.forget()
		}
		l.node(s.Nodes[l.next])
		l.next++
	}
}

func (l *Log) node(n *fleet.Node) {
	if n.Agent == nil {
		return
	}
	for i := range n.GPUs {
		if g := &n.GPUs[i]; g.UUID != "" {
			l.add(g, n.ReadAt(g))
		}
	}
}

// add notes a device's readings, when there is room for it.
func (l *Log) add(g *fleet.GPU, at time.Time) {
	r := l.devices[g.UUID]
	if r == nil {
		if len(l.devices) >= maxDevices {
			return
		}
		r = &ring{}
		l.devices[g.UUID] = r
	}
	r.round = l.round
	if at.After(r.at) {
		r.at = at
		r.put(g)
	}
}

// put opens a new point when the newest has lasted its time, and else replaces it.
func (r *ring) put(g *fleet.GPU) {
	if r.n == 0 || r.at.Sub(r.opened) >= Every {
		r.opened = r.at
		r.next = (r.next + 1) % Points
		r.n = min(r.n+1, Points)
	}
	r.points[(r.next+Points-1)%Points] = [3]float32{value(g.Util), value(g.Temp), value(g.Power)}
}

func value(m fleet.Reading) float32 {
	if m.Quality != fleet.Known {
		return float32(math.NaN())
	}
	return float32(m.Value)
}

// forget ends a round: what it has not seen is gone.
func (l *Log) forget() {
	for id, r := range l.devices {
		if r.round != l.round {
			delete(l.devices, id)
		}
	}
	l.round++
}

// Of is the history of a device; empty when there is none.
func (l *Log) Of(uuid string) Past {
	if l == nil || l.devices[uuid] == nil {
		return Past{}
	}
	r := l.devices[uuid]
	var p Past
	for i := range r.n {
		point := r.points[(r.next-r.n+i+Points)%Points]
		p.Util = append(p.Util, float64(point[0]))
		p.Temp = append(p.Temp, float64(point[1]))
		p.Power = append(p.Power, float64(point[2]))
	}
	return p
}
