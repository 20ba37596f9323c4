package detail

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/fixture"
	"github.com/gpuctl/gpuctl/internal/tui/trace"
)

func gpuDoc(s *fleet.Snapshot, id string) Doc {
	g, n := s.GPU(id)
	return GPU(s, n, g, moment)
}

func TestGPUDocuments(t *testing.T) {
	s := fixture.Watched()
	for name, d := range map[string]Doc{
		"lost":        gpuDoc(s, "gpu-node017:3"),
		"hanging":     gpuDoc(s, "gpu-node018:5"),
		"app error":   gpuDoc(s, "gpu-node002:1"),
		"partitioned": gpuDoc(s, "gpu-node046:0"),
		"pending":     gpuDoc(s, "gpu-node046:1"),
		"agent gone":  gpuDoc(s, "gpu-node047:0"),
		"nvidia-smi":  gpuDoc(s, "gpu-node048:0"),
		"unwatched":   gpuDoc(s, "gpu-node050:0"),
		"node":        Node(s, s.Node("gpu-node031"), moment),
	} {
		t.Run(name, func(t *testing.T) { golden.RequireEqual(t, text(t, d, 80)) })
	}
}

// C82: what MIG mode has no number for is not 0.
func TestC82_MIGHasNoUtilisation(t *testing.T) {
	s := fixture.Watched()
	got := text(t, gpuDoc(s, "gpu-node046:0"), 80)
	if !strings.Contains(got, "n/a (MIG)") || strings.Contains(got, "0%") {
		t.Error(got)
	}
}

// C86: 1, 8, 16 and 72 GPUs, at any width.
func TestC86_ManyGPUsAtAnyWidth(t *testing.T) {
	p := fixture.WatchedParts()
	n := *p.Nodes[45]
	for _, count := range []int{1, 8, 16, 72} {
		some := n
		some.GPUs = nil
		for i := range count {
			g := n.GPUs[i%8]
			g.Index = i
			some.GPUs = append(some.GPUs, g)
		}
		s := fleet.NewSnapshot(fleet.Snapshot{Nodes: []*fleet.Node{&some}})
		for _, width := range []int{1, 2, 9, 20, 43, 80, 200} {
			lines := Node(s, &some, moment).Render(look(t), width)
			for l := range strings.SplitSeq(text(t, Node(s, &some, moment), width), "\n") {
				if ansi.StringWidth(l) > width {
					t.Fatalf("%d GPUs: %d cells in %d: %q", count, ansi.StringWidth(l), width, l)
				}
			}
			if len(lines) < count {
				t.Errorf("%d GPUs in %d lines", count, len(lines))
			}
		}
	}
}

func TestReadingsHaveAPast(t *testing.T) {
	var past trace.Log
	n := fleet.Node{Name: "n1", Agent: &fleet.AgentInfo{}}
	for i, util := range []float64{0, 50, 100, 100} {
		at := moment.Now.Add(time.Duration(i-4) * trace.Every)
		n.GPUs = []fleet.GPU{{Node: "n1", UUID: "GPU-1", At: at, Health: fleet.GPUHealth{State: fleet.GPUAnswers}, Util: fleet.Read(util), Minor: -1}}
		past.Feed(fleet.NewSnapshot(fleet.Snapshot{At: at, Nodes: []*fleet.Node{&n}}))
	}
	m := moment
	m.Past = &past
	s := fleet.NewSnapshot(fleet.Snapshot{Nodes: []*fleet.Node{&n}})
	if got := text(t, GPU(s, &n, &n.GPUs[0], m), 80); !strings.Contains(got, "busy       100%  ▁▅██") {
		t.Error(got)
	}
	if got := text(t, Node(s, &n, m), 80); !strings.Contains(got, "0  ●      ▁▅██") {
		t.Error(got)
	}
	if got := text(t, GPU(s, &n, &n.GPUs[0], m), 18); strings.Contains(got, "▁") {
		t.Errorf("no room for it: %s", got)
	}
}

// C83, C89: who cannot be named is not nobody.
func TestC83_UnknownOwner(t *testing.T) {
	n := fleet.Node{Name: "n1", Agent: &fleet.AgentInfo{}, GPUs: []fleet.GPU{{
		Node: "n1", UUID: "GPU-1", Health: fleet.GPUHealth{State: fleet.GPUAnswers}, Processes: []fleet.GPUProcess{{PID: 7, Instance: -1}},
	}}}
	s := fleet.NewSnapshot(fleet.Snapshot{Nodes: []*fleet.Node{&n}})
	got := text(t, gpuDoc(s, "GPU-1"), 80)
	if !strings.Contains(got, "does not count as free") || !strings.Contains(got, "pid 7      -, -, owner unknown") {
		t.Error(got)
	}
}
