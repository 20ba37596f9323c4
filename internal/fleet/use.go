package fleet

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Use is whether somebody holds a GPU, as far as anybody can tell. Not to know who
// holds a device does not make it free.
type Use string

// The uses of a GPU.
const (
	UseUnknown Use = "unknown" // somebody nobody can name, or nobody can tell
	UseFree    Use = "free"
	UseHeld    Use = "held"
)

// UseOf says whether somebody holds the node's GPU.
func (n *Node) UseOf(g *GPU) Use {
	nameless := false
	for o := range g.Holders {
		if o.Job.ID != "" {
			return UseHeld
		}
		nameless = true
	}
	switch {
	case nameless || len(g.Processes) > 0:
		return UseUnknown
	case g.Silent():
		return UseUnknown // it cannot be asked
	case len(n.Views) == 0 && g.Health.State == GPUUnwatched:
		return UseUnknown
	case n.hasHiddenHolders():
		return UseUnknown
	}
	return UseFree
}

// hasHiddenHolders reports that more GPUs of the node are allocated than have owners:
// nobody told which.
func (n *Node) hasHiddenHolders() bool {
	allocated, owned := n.GPUCount().Allocated, 0
	for i := range n.GPUs {
		if len(n.GPUs[i].Owners) > 0 {
			owned++
		}
	}
	return allocated > owned
}

// Holders yields the owners of the device and of its MIG instances.
func (g *GPU) Holders(yield func(*Owner) bool) {
	for i := range g.Owners {
		if !yield(&g.Owners[i]) {
			return
		}
	}
	for i := range g.MIG.Instances {
		in := &g.MIG.Instances[i]
		for k := range in.Owners {
			if !yield(&in.Owners[k]) {
				return
			}
		}
	}
}

// ByPlace is the instances in the order of their places.
func ByPlace(all []MIGInstance) []MIGInstance {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b MIGInstance) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// Silent reports a device that is watched and does not answer.
func (g *GPU) Silent() bool {
	switch g.Health.State {
	case GPULost, GPUHanging, GPUMissing:
		return true
	case GPUUnwatched, GPUAnswers:
	}
	return false
}

// IsOpen reports a fault that nobody and nothing has cleared.
func (f *Fault) IsOpen() bool { return f.Cleared.IsZero() }

// ReadAt is when the node's device was last read. One that answers as before is not
// reported again: then the agent's own word is newer.
func (n *Node) ReadAt(g *GPU) time.Time {
	if n.Agent != nil && !g.Silent() && n.Agent.At.After(g.At) {
		return n.Agent.At
	}
	return g.At
}

// UseOfInstance says whether somebody holds an instance of the device.
func (g *GPU) UseOfInstance(in *MIGInstance) Use {
	for i := range in.Owners {
		if in.Owners[i].Job.ID != "" {
			return UseHeld
		}
	}
	onIt := func(p GPUProcess) bool { return p.Instance == in.ID }
	if len(in.Owners) > 0 || g.Silent() || slices.ContainsFunc(g.Processes, onIt) {
		return UseUnknown
	}
	return UseFree
}

// GPU returns the node's device of that ID, or nil.
func (n *Node) GPU(id string) *GPU {
	for i := range n.GPUs {
		if g := &n.GPUs[i]; g.UUID == id && id != "" || g.UUID == "" && g.ID() == id {
			return g
		}
	}
	return nil
}

// GPU returns the device that a person means by id, with its node, or nil: by UUID, or
// as node:index.
func (s *Snapshot) GPU(id string) (*GPU, *Node) {
	if i := strings.LastIndexByte(id, ':'); i >= 0 {
		if n := s.Node(id[:i]); n != nil && n.gpuAt(id[i+1:]) != nil {
			return n.gpuAt(id[i+1:]), n
		}
	}
	for _, n := range s.Nodes {
		if n.Agent == nil {
			continue // nobody tells UUIDs there
		}
		if g := n.GPU(id); g != nil {
			return g, n
		}
	}
	return nil, nil
}

func (n *Node) gpuAt(index string) *GPU {
	for i := range n.GPUs {
		if strconv.Itoa(n.GPUs[i].Index) == index {
			return &n.GPUs[i]
		}
	}
	return nil
}
