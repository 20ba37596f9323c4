package tui

import (
	"testing"

	"github.com/gpuctl/gpuctl/internal/tui/fixture"
	"github.com/gpuctl/gpuctl/internal/tui/tuitest"
)

func TestProductionIsSaidInWords(t *testing.T) {
	production := func(o *Options) { o.Production = map[string]bool{fixture.Main: true} }
	for _, width := range []int{80, 160} {
		onScreen(t, width, 24, fixture.Fleet(), production, func(s *tuitest.Screen, _ *console) {
			s.Settle()
			s.Require(fixture.Main + " PROD")
		})
	}
}
