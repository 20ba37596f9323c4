package detail

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/fixture"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

var moment = words.Moment{Now: fixture.Now(), Zone: words.Zones(nil)[0]}

func look(t *testing.T) *theme.Theme {
	t.Helper()
	th, err := theme.Load(theme.Default, nil)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func text(t *testing.T, d Doc, width int) string {
	t.Helper()
	return ansi.Strip(strings.Join(d.Render(look(t), width), "\n")) + "\n"
}

func TestDocuments(t *testing.T) {
	s := fixture.Fleet()
	job := func(id string) Doc { return Job(s, s.FindJobs(fixture.Main, id)[0], moment) }
	for name, d := range map[string]Doc{
		"draining node": Node(s, s.Node("gpu-node017"), moment),
		"half a node":   Node(s, s.Node("gpu-node041"), moment),
		"odd node":      Node(s, s.Node("gpu-node062"), moment),
		"reserved node": Node(s, s.Node("gpu-node064"), moment),
		"large job":     job("4711"),
		"held job":      job("5120"),
		"array rest":    job("4730_*"),
		"failed job":    job("4601"),
		"preempted job": job("4740"),
		"event":         Event(s, &s.Timeline[2], moment),
		"sources":       Sources(s, moment),
	} {
		t.Run(name, func(t *testing.T) { golden.RequireEqual(t, text(t, d, 80)) })
	}
}

func TestNoLineIsTooWide(t *testing.T) {
	s := fixture.Fleet()
	for _, n := range s.Nodes {
		d := Node(s, n, moment)
		for _, width := range []int{1, 7, 20, 44, 80} {
			for _, l := range d.Render(look(t), width) {
				if w := ansi.StringWidth(l); w > width {
					t.Fatalf("%s: %d cells in %d: %q", n.Name, w, width, ansi.Strip(l))
				}
			}
		}
	}
}

// Two owners of one GPU are a fault of their own, whoever reports them.
func TestC100_TwoOwnersOfOneGPU(t *testing.T) {
	n := &fleet.Node{Name: "a", GPUs: []fleet.GPU{{Index: 0, Owners: []fleet.Owner{
		{Job: fleet.JobKey{ID: "1"}, Name: "x", User: "alice", Proven: true}, {Job: fleet.JobKey{ID: "2"}, Name: "y", User: "bob", Proven: true},
	}}}}
	d := Node(fleet.NewSnapshot(fleet.Snapshot{Nodes: []*fleet.Node{n}}), n, moment)
	if got := text(t, d, 80); !strings.Contains(got, "1 x alice AND 2 y bob") {
		t.Error(got)
	}
}

func TestStaleDataSaySo(t *testing.T) {
	p := fixture.Parts()
	p.Sources[0].Status, p.Sources[0].LastSuccess = fleet.SourceStale, fixture.Now().Add(-2*time.Minute)
	s := fleet.NewSnapshot(p)
	if got := text(t, Node(s, s.Node("gpu-node001"), moment), 80); !strings.Contains(got, "stale: 2m old") {
		t.Error(got)
	}
}
