package client

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// maxGPUs bounds what is believed of one host.
const maxGPUs = 1024

// sample applies a sample. After a gap only a full one helps, and is asked for.
func (l *link) sample(s *wire.Sample) error {
	switch {
	case len(s.GPUs) > maxGPUs, len(s.Gone) > maxGPUs:
		return fmt.Errorf("%w: more than %d GPUs", ErrGarbage, maxGPUs)
	case s.Full:
		l.behind = false
	case !l.behind && (l.state == nil || s.Seq != l.state.Seq+1):
		l.behind = true
		return l.ask()
	case l.behind:
		return nil // and it counts as silent until the full one comes
	}
	next := l.merge(s)
	if len(next.GPUs) > maxGPUs {
		return fmt.Errorf("%w: more than %d GPUs", ErrGarbage, maxGPUs)
	}
	if l.state == nil {
		l.patience(2 * l.hello.Interval)
	}
	l.state = next
	l.heard()
	l.c.publish(next)
	return nil
}

// ask asks for a full sample.
func (l *link) ask() error {
	select {
	case l.out <- wire.Frame{Request: &wire.Request{Version: l.version(), ID: syncID, Op: wire.OpSample}}:
		return nil
	default:
		return fmt.Errorf("%w: it does not read what we send", ErrSilent)
	}
}

// version is the protocol to speak: the older of the two.
func (l *link) version() int { return min(l.hello.Version, wire.Version) }

// merge makes the state after a sample. The one before stays as it is.
func (l *link) merge(s *wire.Sample) *State {
	for i := range s.GPUs {
		s.GPUs[i].Node = l.c.host // whatever it says: it speaks of its own host only
	}
	next := &State{Hello: *l.hello, Seq: s.Seq, Heard: time.Now()}
	if !s.Full {
		next.Node, next.GPUs = l.state.Node, mergeGPUs(l.state.GPUs, s)
	} else {
		next.GPUs = s.GPUs
	}
	if s.Node != nil {
		next.Node = *s.Node
	}
	next.Node.At, next.Node.Version = s.At, l.hello.Agent
	next.Node.Status, next.Node.Gone, next.Node.Via = "", "", "" // ours to tell
	return next
}

// mergeGPUs puts the changed devices in, leaves out those gone, and adds new ones.
func mergeGPUs(before []fleet.GPU, s *wire.Sample) []fleet.GPU {
	out := make([]fleet.GPU, 0, len(before)+len(s.GPUs))
	for i := range before {
		if !slices.ContainsFunc(s.Gone, func(id string) bool { return means(id, &before[i]) }) {
			out = append(out, before[i])
		}
	}
	for i := range s.GPUs {
		id := s.GPUs[i].ID()
		at := slices.IndexFunc(out, func(g fleet.GPU) bool { return g.ID() == id })
		if at < 0 {
			out = append(out, s.GPUs[i])
		} else {
			out[at] = s.GPUs[i]
		}
	}
	slices.SortStableFunc(out, func(a, b fleet.GPU) int { return a.Index - b.Index })
	return out
}

// means reports whether an agent's id is of the device. One without a UUID is named by
// index, after a host name that may be another than ours.
func means(id string, g *fleet.GPU) bool {
	return id == g.UUID || g.UUID == "" && strings.HasSuffix(id, ":"+strconv.Itoa(g.Index))
}
