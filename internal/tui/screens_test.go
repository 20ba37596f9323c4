package tui

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/gpuctl/gpuctl/internal/tui/fixture"
	"github.com/gpuctl/gpuctl/internal/tui/keys"
	"github.com/gpuctl/gpuctl/internal/tui/tuitest"
)

var sizes = []struct{ w, h int }{{80, 24}, {120, 40}, {200, 50}}

func TestPages(t *testing.T) {
	for _, size := range sizes {
		onScreen(t, size.w, size.h, fixture.Fleet(), nil, func(s *tuitest.Screen, _ *console) {
			for i, name := range keys.PageNames {
				if name == "GPUs" {
					continue
				}
				s.Press(strconv.Itoa(i + 1))
				s.Golden(fmt.Sprintf("%s-%dx%d", name, size.w, size.h))
			}
		})
	}
}
