package tui

import (
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/detail"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/page"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// gpuPage is the index of the GPUs page.
const gpuPage = 3

// sourceAgents is the kind of sources that stand for node agents.
const sourceAgents = "agent"

// agentsOff says why there is nothing to see of single GPUs; empty when there is.
func (m *Model) agentsOff() string {
	switch {
	case m.snap == nil:
		return "nothing is known yet"
	case m.watched > 0:
		return ""
	}
	for i := range m.snap.Sources {
		if m.snap.Sources[i].Kind == sourceAgents {
			return "no node agent has answered yet"
		}
	}
	return "no node agent configured"
}

// countGPUs counts the devices of the fleet, and those of nodes that have an agent.
func (m *Model) countGPUs() {
	m.gpus, m.watched = 0, 0
	for _, n := range m.snap.Nodes {
		m.gpus += len(n.GPUs)
		if n.Agent != nil {
			m.watched += len(n.GPUs)
		}
	}
}

// gpuTitle names a device as people do: by node and index.
func (m *Model) gpuTitle(it page.Item) string {
	if n := m.snap.Node(it.Node); n != nil && n.GPU(it.Subject.Name) != nil {
		return line.Clean("GPU " + words.GPUName(n.GPU(it.Subject.Name)))
	}
	return line.Clean("GPU " + it.Subject.Name)
}

// describeGPU writes the document of a device.
func describeGPU(s *fleet.Snapshot, it page.Item, at words.Moment) detail.Doc {
	n := s.Node(it.Node)
	if n == nil || n.GPU(it.Subject.Name) == nil {
		return nil
	}
	return detail.GPU(s, n, n.GPU(it.Subject.Name), at)
}
