package agent

import (
	"reflect"
	"slices"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// State is what the agent knows at one moment. It is immutable.
type State struct {
	Seq  uint64
	At   time.Time
	Node fleet.AgentInfo
	GPUs []fleet.GPU // by index

	nodeSince uint64   // the Seq since which Node is as it is
	gpuSince  []uint64 // and each of GPUs
}

// GPU returns the device with the UUID, or nil.
func (s *State) GPU(uuid string) *fleet.GPU {
	for i := range s.GPUs {
		if s.GPUs[i].UUID == uuid {
			return &s.GPUs[i]
		}
	}
	return nil
}

// after notes what is unchanged since the state before.
func (s *State) after(before *State) *State {
	s.Seq, s.nodeSince = 1, 1
	if before != nil {
		s.Seq = before.Seq + 1
		s.nodeSince = s.Seq
		if reflect.DeepEqual(timelessNode(s.Node), timelessNode(before.Node)) {
			s.nodeSince = before.nodeSince
		}
	}
	s.gpuSince = make([]uint64, len(s.GPUs))
	for i := range s.GPUs {
		s.gpuSince[i] = s.Seq
		if before == nil {
			continue
		}
		k := slices.IndexFunc(before.GPUs, func(g fleet.GPU) bool { return g.ID() == s.GPUs[i].ID() })
		if k >= 0 && reflect.DeepEqual(timeless(s.GPUs[i]), timeless(before.GPUs[k])) {
			s.gpuSince[i] = before.gpuSince[k]
		}
	}
	return s
}

// frame is the sample for a client that was sent the state seen last; nil: none yet.
func (s *State) frame(seen *State) *wire.Sample {
	out := &wire.Sample{At: s.At}
	if seen == nil || s.hasLostNameless(seen) {
		out.Full, out.Node, out.GPUs = true, &s.Node, s.GPUs
		return out
	}
	if s.nodeSince > seen.Seq {
		out.Node = &s.Node
	}
	for i := range s.GPUs {
		if s.gpuSince[i] > seen.Seq {
			out.GPUs = append(out.GPUs, s.GPUs[i])
		}
	}
	for i := range seen.GPUs {
		if uuid := seen.GPUs[i].UUID; uuid != "" && s.GPU(uuid) == nil {
			out.Gone = append(out.Gone, uuid)
		}
	}
	return out
}

// hasLostNameless reports that a device without UUID is no longer listed. The client
// may know it by another node name, so that it cannot be told which is gone.
func (s *State) hasLostNameless(seen *State) bool {
	return slices.ContainsFunc(seen.GPUs, func(g fleet.GPU) bool {
		return g.UUID == "" && !slices.ContainsFunc(s.GPUs, func(now fleet.GPU) bool { return now.ID() == g.ID() })
	})
}

func timelessNode(n fleet.AgentInfo) fleet.AgentInfo {
	n.At = time.Time{}
	return n
}

// timeless is the device without the times at which it was read.
func timeless(g fleet.GPU) fleet.GPU {
	g.At = time.Time{}
	for _, r := range []*fleet.Reading{
		&g.Temp, &g.TempLimit, &g.Power, &g.PowerCap, &g.Util, &g.MemUsed, &g.MemTotal, &g.SMClock,
	} {
		r.At = time.Time{}
	}
	g.Owners = timelessOwners(g.Owners)
	g.Processes = slices.Clone(g.Processes)
	for i := range g.Processes {
		g.Processes[i].Bytes.At, g.Processes[i].Owner.At = time.Time{}, time.Time{}
	}
	g.MIG.Instances = slices.Clone(g.MIG.Instances)
	for i := range g.MIG.Instances {
		g.MIG.Instances[i].Owners = timelessOwners(g.MIG.Instances[i].Owners)
	}
	return g
}

func timelessOwners(owners []fleet.Owner) []fleet.Owner {
	out := slices.Clone(owners)
	for i := range out {
		out[i].At = time.Time{}
	}
	return out
}
