package tui

import (
	"fmt"
	"testing"

	"github.com/gpuctl/gpuctl/internal/tui/fixture"
	"github.com/gpuctl/gpuctl/internal/tui/tuitest"
)

func TestGPUsPage(t *testing.T) {
	for _, size := range []struct{ w, h int }{{80, 24}, {160, 45}} {
		onScreen(t, size.w, size.h, fixture.Watched(), nil, func(s *tuitest.Screen, _ *console) {
			name := func(what string) string { return fmt.Sprintf("%s-%dx%d", what, size.w, size.h) }
			s.Golden(name("triage"))
			s.Press("4", "/")
			typed(s, "node:gpu-node017 || node:gpu-node018 || node:gpu-node046 || node:gpu-node047")
			s.Press("enter", "j", "j", "j")
			s.Golden(name("gpus"))
			s.Press("enter")
			s.Golden(name("lost"))
			s.Press("esc", "2", "/")
			typed(s, "gpu-node046")
			s.Press("enter", "enter")
			s.Golden(name("node-mig"))
			s.Press("esc", "esc", "/")
			typed(s, "gpu-node017")
			s.Press("enter")
			s.Golden(name("node-lost"))
		})
	}
}
