package page

import (
	"testing"

	"github.com/gpuctl/gpuctl/internal/tui/fixture"
)

func TestHoldersAreOfTheSameModelAndCluster(t *testing.T) {
	s := fixture.Fleet()
	waiting := s.FindJobs(fixture.Main, "5121")[0]
	got := Holders(s, waiting)
	if len(got) != 5 {
		t.Fatalf("%d holders, want 5", len(got))
	}
	for _, h := range got {
		if h.Job.Key.Cluster != fixture.Main || h.Job.GPUs.Model != "h100" || h.Ends.IsZero() {
			t.Errorf("holder %s of %s, model %s, ends %v", h.Job.ID, h.Job.Key.Cluster, h.Job.GPUs.Model, h.Ends)
		}
	}
}
