package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/fixture"
	"github.com/gpuctl/gpuctl/internal/tui/tuitest"
)

// onGPU opens the layout dialog for a device of gpu-node046.
func onGPU(s *tuitest.Screen, index int) {
	s.Press("4", "/")
	typed(s, "gpu-node046")
	s.Press("enter")
	for range index {
		s.Press("j")
	}
	s.Press("M")
	s.Advance(calm)
}

func TestMIGEditor(t *testing.T) {
	for _, size := range []struct{ w, h int }{{80, 24}, {160, 45}} {
		onScreen(t, size.w, size.h, fixture.Watched(), nil, func(s *tuitest.Screen, c *console) {
			name := func(what string) string { return fmt.Sprintf("%s-%dx%d", what, size.w, size.h) }
			onGPU(s, 0)
			s.Require("this is how it is now: 3g.40gb@0,1g.10gb@4,1g.10gb@5")
			s.Golden(name("now"))
			s.Press("l", "x") // one of the two small ones out, and another in
			s.Press("1")
			s.Require("planning 3g.40gb@0,1g.10gb@5,1g.10gb@6", "off: no room at slice 0, 2, 4")
			if n := len(c.engine.requests()); n != 0 {
				t.Errorf("%d plans before the layout rested", n)
			}
			s.Advance(time.Second)
			s.Require("plan for 3g.40gb@0,1g.10gb@5,1g.10gb@6")
			s.Golden(name("planned"))
			s.Press("enter")
			s.Advance(calm)
			s.Require("can be taken back")
		})
	}
}

// Each layout that rests is planned once, and the one that is taken is asked for.
func TestMIGEditorAsksForWhatIsChosen(t *testing.T) {
	onScreen(t, 120, 40, fixture.Watched(), nil, func(s *tuitest.Screen, c *console) {
		onGPU(s, 0)
		s.Press("z", "5", "5", "9", "5")
		s.Advance(time.Second)
		s.Press("enter")
		s.Settle()
		var layouts []string
		for _, r := range c.engine.requests() {
			if r.Verb != actions.MIGApply || len(r.Targets) != 1 || r.Targets[0] != (actions.Target{Kind: fleet.KindNode, Cluster: fixture.Main, Name: "gpu-node046"}) {
				t.Errorf("%+v", r)
			}
			layouts = append(layouts, r.Options.GPUs[0].UUID[:12]+" "+r.Options.GPUs[0].Layout)
		}
		if got := strings.Join(layouts, "; "); got != "GPU-2e2e2e2e 3g.40gb@0,3g.40gb@4; GPU-2e2e2e2e 3g.40gb@0,3g.40gb@4" {
			t.Error(got)
		}
		if len(c.engine.confirmations()) != 0 {
			t.Error("it ran without being confirmed")
		}
	})
}

func TestMIGEditorShowsWhyNot(t *testing.T) {
	onScreen(t, 120, 40, fixture.Watched(), nil, func(s *tuitest.Screen, c *console) {
		c.engine.blocked = "GPU 0: process 900 (vllm) is on 1g.10gb@5"
		onGPU(s, 0)
		s.Press("o")
		s.Advance(time.Second)
		s.Require("plan for off", "process 900 (vllm)", "wanted MIG is off")
		s.Press("enter") // the plan says the same, and cannot be confirmed
		s.Advance(calm)
		s.Require("process 900 (vllm)")
		s.Press("esc")
		s.Forbid("process 900")
	})
}

func TestMIGOfANodeAsksWhichGPU(t *testing.T) {
	onScreen(t, 120, 40, fixture.Watched(), nil, func(s *tuitest.Screen, _ *console) {
		s.Press("2", "/")
		typed(s, "gpu-node017")
		s.Press("enter", "M")
		s.Advance(calm)
		s.Require("Partition which GPU of gpu-node017", "off: it does not answer: lost")
		s.Press("2")
		s.Advance(calm)
		s.Require("MIG of gpu-node017:2", "MIG is off")
	})
}

func TestResetOfTheSelectedGPU(t *testing.T) {
	onScreen(t, 120, 40, fixture.Watched(), nil, func(s *tuitest.Screen, c *console) {
		onGPU(s, 1)
		s.Press("esc", ":")
		typed(s, "gpu-reset")
		s.Press("enter")
		s.Settle()
		r := c.engine.requests()
		if len(r) != 1 || r[0].Verb != actions.GPUReset || r[0].Options.GPUs[0].UUID != "GPU-2e2e2e2f-aaaa-bbbb-cccc-000000000001" {
			t.Errorf("%+v", r)
		}
	})
}

func TestMIGIsOffWithAReason(t *testing.T) {
	for node, want := range map[string]string{
		"gpu-node047": "mig is off: its agent is not reached", "gpu-node048": "mig is off: no agent watches gpu-node048", "gpu-node050": "mig is off: no agent watches gpu-node050",
	} {
		onScreen(t, 160, 40, fixture.Watched(), nil, func(s *tuitest.Screen, _ *console) {
			s.Press("2", "/")
			typed(s, node)
			s.Press("enter", "M")
			s.Require(want)
		})
	}
}

func TestGPUsPageIsOffWithoutAgents(t *testing.T) {
	onScreen(t, 80, 24, fixture.Fleet(), nil, func(s *tuitest.Screen, _ *console) {
		s.Press("4")
		s.Require("no node agent configured")
	})
}
