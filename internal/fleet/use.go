package fleet

import (
	"strconv"
	"strings"
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
	nameless := len(g.Owners) > 0
	for i := range g.Owners {
		if g.Owners[i].Job.ID != "" {
			return UseHeld
		}
	}
	for i := range g.MIG.Instances {
		for _, o := range g.MIG.Instances[i].Owners {
			if o.Job.ID != "" {
				return UseHeld
			}
			nameless = true
		}
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

// GPU returns the device of that ID with its node, or nil: by UUID, or as node:index.
func (s *Snapshot) GPU(id string) (*GPU, *Node) {
	for _, n := range s.Nodes {
		for i := range n.GPUs {
			if g := &n.GPUs[i]; g.UUID == id && id != "" {
				return g, n
			}
		}
	}
	node, index, ok := cutLast(id, ':')
	if !ok {
		return nil, nil
	}
	if n := s.Node(node); n != nil {
		for i := range n.GPUs {
			if strconv.Itoa(n.GPUs[i].Index) == index {
				return &n.GPUs[i], n
			}
		}
	}
	return nil, nil
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
