package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/fixture"
)

func nodeTarget(name string) actions.Target {
	return actions.Target{Kind: fleet.KindNode, Cluster: fixture.Main, Name: name}
}

func jobTarget(s *fleet.Snapshot, id string) actions.Target {
	for _, j := range s.Jobs {
		if j.ID == id {
			return actions.Target{Kind: fleet.KindJob, Cluster: j.Key.Cluster, Name: j.ID, Job: j.Key}
		}
	}
	return actions.Target{Kind: fleet.KindJob, Cluster: fixture.Main, Name: id}
}

func TestRefusalSaysWhyByState(t *testing.T) {
	s := fixture.Fleet()
	for _, c := range []struct {
		verb   actions.Verb
		target actions.Target
		want   string // part of the reason; empty: allowed
	}{
		{actions.Drain, nodeTarget("gpu-node001"), ""},
		{actions.Drain, nodeTarget("gpu-node017"), "already draining"},
		{actions.Drain, nodeTarget("gpu-node057"), "already drained"},
		{actions.Undrain, nodeTarget("gpu-node001"), "not drained"},
		{actions.Undrain, nodeTarget("gpu-node056"), ""},
		{actions.Drain, jobTarget(s, "4711"), "is a job, not a node"},
		{actions.Drain, nodeTarget("gone01"), "gone01 is gone"},
		{actions.Drain, actions.Target{Kind: fleet.KindNode, Cluster: fixture.Lab, Name: "lab02"}, "needs administrator"},
		{actions.Requeue, jobTarget(s, "4711"), ""},
		{actions.Requeue, jobTarget(s, "5121"), "waits already"},
		{actions.Release, jobTarget(s, "5120"), ""},
		{actions.Release, jobTarget(s, "5121"), "not held"},
		{actions.Hold, jobTarget(s, "5121"), ""},
		{actions.Hold, jobTarget(s, "4711"), "only a waiting job"},
		{actions.Cancel, jobTarget(s, "4600"), "has ended"},
		{actions.Cancel, jobTarget(s, "4735"), ""},
		{actions.Unsuspend, jobTarget(s, "4711"), "not suspended"},
		{actions.Cancel, jobTarget(s, "999"), "gone"},
	} {
		got := refusal(s, fixture.Now(), c.verb, []actions.Target{c.target})
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.verb, c.target.Name, got, c.want)
		}
	}
}

func TestActionsAreOffOnStaleData(t *testing.T) {
	p := fixture.Parts()
	p.Sources[0].Status, p.Sources[0].LastSuccess = fleet.SourceStale, fixture.Now().Add(-2*time.Minute)
	got := refusal(fleet.NewSnapshot(p), fixture.Now(), actions.Drain, []actions.Target{nodeTarget("gpu-node001")})
	if got != "ai_cluster is stale: its data are 2m old" {
		t.Errorf("refusal = %q", got)
	}
}

// One target that can be acted on is enough: the plan says what it skips.
func TestRefusalOfManyTargets(t *testing.T) {
	s := fixture.Fleet()
	mixed := []actions.Target{nodeTarget("gpu-node057"), nodeTarget("gpu-node001")}
	if got := refusal(s, fixture.Now(), actions.Drain, mixed); got != "" {
		t.Errorf("refusal = %q", got)
	}
	if got := refusal(s, fixture.Now(), actions.Drain, nil); got != "no node selected" {
		t.Errorf("refusal = %q", got)
	}
}
