package page

import (
	"slices"
	"testing"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/fixture"
)

func TestC23_HeldAfterFailedLaunchComesFirst(t *testing.T) {
	q := Queue(fixture.Fleet())
	if q[0].Job.ID != "5120" || !q[0].NeedsOperator || q[0].Position != 0 {
		t.Errorf("first = %s, needs operator %v, position %d", q[0].Job.ID, q[0].NeedsOperator, q[0].Position)
	}
	ordinary := slices.IndexFunc(q, func(w Waiter) bool { return !w.NeedsOperator })
	if q[ordinary].Job.ID != "5121" || q[ordinary].Position != 1 {
		t.Errorf("first ordinary = %s at %d", q[ordinary].Job.ID, q[ordinary].Position)
	}
	for _, part := range [][]Waiter{q[:ordinary], q[ordinary:]} {
		if !slices.IsSortedFunc(part, func(a, b Waiter) int { return byPriority(a.Job, b.Job) }) {
			t.Error("not in order of priority")
		}
	}
}

// The detail pane explains one job without building the whole queue; both must
// tell the same position.
func TestExplainAgreesWithQueue(t *testing.T) {
	s := fixture.Fleet()
	for _, w := range Queue(s) {
		one := Explain(s, w.Job)
		if one.Position != w.Position || one.Of != w.Of {
			t.Errorf("%s: queue says %d/%d, explain %d/%d", w.Job.ID, w.Position, w.Of, one.Position, one.Of)
		}
	}
}

func TestC20_EstimateIsNotAnElapsedTime(t *testing.T) {
	s := fixture.Fleet()
	j := s.FindJobs(fixture.Main, "5121")[0]
	if got := EstStart(j, fixture.Now()); got != "est. start in 13h39m" {
		t.Errorf("EstStart = %q", got)
	}
	if got := EstStart(&fleet.Job{}, fixture.Now()); got != "" {
		t.Errorf("EstStart of unknown = %q", got)
	}
}
