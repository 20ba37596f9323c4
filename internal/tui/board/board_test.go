package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

var start = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func newDock(t *testing.T) *Dock {
	t.Helper()
	th, err := theme.Load("mono", nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(th)
}

func plan(id string, steps ...string) *actions.Plan {
	p := &actions.Plan{ID: id, Verb: actions.Drain, Targets: []actions.TargetPlan{
		{Target: actions.Target{Kind: fleet.KindNode, Cluster: "ai_cluster", Name: "gpu-" + id}, Fate: actions.FateAct},
	}}
	for i, s := range steps {
		p.Steps = append(p.Steps, actions.Step{N: i + 1, Name: s})
	}
	return p
}

func started(p *actions.Plan, n int) actions.Event {
	return actions.Event{Plan: p.ID, Started: &p.Steps[n-1]}
}

func waiting(p *actions.Plan, n int, state string) actions.Event {
	return actions.Event{Plan: p.ID, Waiting: &actions.Wait{N: n, State: state}}
}

func finished(p *actions.Plan, n int, o actions.Outcome, detail string) actions.Event {
	return actions.Event{Plan: p.ID, Finished: &actions.StepResult{N: n, Name: p.Steps[n-1].Name, Result: o, Detail: detail, Took: 4 * time.Second}}
}

func done(p *actions.Plan, o actions.Outcome, message string) actions.Event {
	return actions.Event{Plan: p.ID, Done: &actions.Result{Plan: p, Result: o, Message: message}}
}

// busyDock holds a run on its way, one that failed and one that ended well.
func busyDock(t *testing.T) *Dock {
	t.Helper()
	d := newDock(t)
	running := plan("node017", "set DRAIN", "wait for job 4711 to requeue", "cordon", "evict 3 pods", "read back")
	failed := plan("node031", "set DRAIN", "cordon")
	good := plan("node044", "set DRAIN")
	for i, p := range []*actions.Plan{running, failed, good} {
		d.Start(p, at(i))
	}
	for _, e := range []actions.Event{
		started(running, 1), finished(running, 1, actions.Verified, "MIXED+DRAIN"),
		started(running, 2), waiting(running, 2, "job 4711 COMPLETING on gpu-node017"),
		started(failed, 1), finished(failed, 1, actions.Refused, "slurm: Access/permission denied"),
		finished(failed, 2, actions.NotTried, ""),
		done(failed, actions.Refused, "gpuop is not an administrator"),
		started(good, 1), finished(good, 1, actions.Verified, "IDLE+DRAIN"), done(good, actions.Verified, ""),
		{Plan: "someone else's", Done: &actions.Result{}},
	} {
		d.Feed(e, at(6))
	}
	d.Tick(at(8))
	return d
}

func TestGolden(t *testing.T) {
	d := busyDock(t)
	d.Focus(true)
	d.Move(-2)
	var b strings.Builder
	for _, size := range [][2]int{{100, d.Height(99)}, {100, 7}, {80, 3}, {80, 2}, {60, 1}, {24, 6}} {
		fmt.Fprintf(&b, "== %dx%d\n", size[0], size[1])
		for l := range strings.SplitSeq(ansi.Strip(d.View(size[0], size[1])), "\n") {
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
	golden.RequireEqual(t, b.String())
}

func TestGoodBoardsLeaveAndOthersStay(t *testing.T) {
	d := busyDock(t)
	if d.Len() != 3 || d.Running() != 1 {
		t.Fatalf("%d boards, %d running", d.Len(), d.Running())
	}
	d.Tick(at(100000))
	if d.Len() != 2 {
		t.Fatalf("%d boards, want the one that runs and the one that failed", d.Len())
	}
	d.Dismiss("node017")
	d.Dismiss("node031")
	d.Dismiss("nosuch")
	if d.Len() != 1 || d.Running() != 1 {
		t.Errorf("%d boards, %d running; one that runs cannot be dismissed", d.Len(), d.Running())
	}
	if d.Move(1); d.Selected() == nil || d.Selected().Plan.ID != "node017" {
		t.Errorf("selected %v", d.Selected())
	}
}

func TestResultFillsInStepsThatNoEventTold(t *testing.T) {
	d := newDock(t)
	p := plan("node001", "one", "two")
	d.Start(p, start)
	d.Feed(actions.Event{Plan: p.ID, Done: &actions.Result{Plan: p, Result: actions.NotVerified, Steps: []actions.StepResult{
		{N: 1, Result: actions.Verified}, {N: 2, Result: actions.NotVerified, Detail: "still MIXED"},
	}}}, at(3))
	if view := ansi.Strip(d.View(80, 3)); !strings.Contains(view, "2/2") || !strings.Contains(view, "still MIXED") {
		t.Error(view)
	}
}

func TestEmptyDock(t *testing.T) {
	d := newDock(t)
	d.Move(1)
	d.Dismiss("x")
	if d.Height(10) != 0 || d.Selected() != nil || d.View(10, 0) != "" {
		t.Error("an empty dock shows something")
	}
}

func TestEverySizeIsExact(t *testing.T) {
	d := busyDock(t)
	for w := 1; w < 200; w++ {
		for h := 1; h < 15; h++ {
			lines := strings.Split(d.View(w, h), "\n")
			if len(lines) != h {
				t.Fatalf("%dx%d: %d lines", w, h, len(lines))
			}
			for _, l := range lines {
				if ansi.StringWidth(l) != w {
					t.Fatalf("%dx%d: %d cells in %q", w, h, ansi.StringWidth(l), l)
				}
			}
		}
	}
}
