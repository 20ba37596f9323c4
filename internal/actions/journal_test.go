package actions_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/actions/actionstest"
)

// copyJournal is what a kill at this moment would leave behind: the files without
// the locks of the living.
func copyJournal(t *testing.T, dir string) string {
	t.Helper()
	left := t.TempDir()
	paths, err := filepath.Glob(filepath.Join(dir, "run-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // the run ended just now
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(left, filepath.Base(path)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return left
}

func stepNumbers(steps []actions.Step) []int {
	var ns []int
	for _, s := range steps {
		ns = append(ns, s.N)
	}
	return ns
}

// killedAfter runs a drain of two nodes and "kills" it after that many events. The
// reader's view of the run is compared with what the journal has; ended is true
// when the run had no more events.
func killedAfter(t *testing.T, events int) (ended bool) {
	r := newRig(t)
	r.a.Wait = true
	r.a.SetFault("a1", actionstest.Fault{Delay: time.Second})
	r.a.SetFault("a2", actionstest.Fault{Delay: 3 * time.Second})
	p := r.plan(t, actions.Drain, actionstest.Nodes("a", "a1", "a2")...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := r.engine.Run(ctx, p, actions.Confirmation{})
	if err != nil {
		t.Fatal(err)
	}
	var started, finished []int
	for range events {
		ev, ok := <-stream
		switch {
		case !ok:
			return true
		case ev.Started != nil:
			started = append(started, ev.Started.N)
		case ev.Finished != nil:
			finished = append(finished, ev.Finished.N)
		}
	}
	checkLeftBehind(t, copyJournal(t, r.dir), started, finished)
	cancel()
	for range stream {
	}
	return false
}

// checkLeftBehind wants the journal to know at least what the reader was told.
func checkLeftBehind(t *testing.T, dir string, started, finished []int) {
	t.Helper()
	runs, err := actions.OpenRuns(dir)
	if err != nil || len(runs) > 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	if len(runs) == 0 {
		if len(started) > 0 && len(finished) != 4 {
			t.Errorf("a run with %v begun and %v of 4 finished is not listed", started, finished)
		}
		return
	}
	run := runs[0]
	var done []int
	for _, d := range run.Done {
		done = append(done, d.N)
	}
	flight := stepNumbers(run.InFlight)
	for _, n := range finished {
		if !slices.Contains(done, n) {
			t.Errorf("step %d was reported finished and the journal does not know", n)
		}
	}
	for _, n := range started {
		if !slices.Contains(done, n) && !slices.Contains(flight, n) {
			t.Errorf("step %d was sent and the journal says it was not begun", n)
		}
	}
	if n := len(done) + len(flight) + len(run.NotBegun); n != 4 || run.NotUnderstood > 0 {
		t.Errorf("%d of 4 steps are accounted for: %s", n, run.Summary())
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	if runs, _ := actions.OpenRuns(dir); len(runs) > 0 {
		t.Error("a run that was read is listed again")
	}
}

func TestKilledAfterEveryEvent(t *testing.T) {
	for n := 0; ; n++ {
		ended := false
		synctest.Test(t, func(t *testing.T) { ended = killedAfter(t, n) })
		if ended {
			if n < 10 {
				t.Errorf("the run had only %d events", n)
			}
			return
		}
	}
}

func TestLivingRunIsNotListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.SetFault("a1", actionstest.Fault{Delay: 10 * time.Second})
		stream, err := r.engine.Run(t.Context(), r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{})
		if err != nil {
			t.Fatal(err)
		}
		<-stream
		if files, _ := os.ReadDir(r.dir); len(files) != 1 {
			t.Errorf("%d files for one run", len(files))
		}
		if runs, err := actions.OpenRuns(r.dir); err != nil || len(runs) > 0 {
			t.Errorf("a living run is called killed: %v, %v", runs, err)
		}
		for range stream {
		}
		if files, _ := os.ReadDir(r.dir); len(files) != 0 {
			t.Errorf("%d files after the run's end", len(files))
		}
	})
}

func TestJournalIsPrivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		stream, err := r.engine.Run(t.Context(), r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{})
		if err != nil {
			t.Fatal(err)
		}
		<-stream
		synctest.Wait()
		dir, err := os.Stat(r.dir)
		if err != nil || dir.Mode().Perm() != 0o700 {
			t.Errorf("folder %v, %v", dir.Mode(), err)
		}
		for range stream {
		}
	})
}

func TestOpenRunsOfAMissingFolder(t *testing.T) {
	if runs, err := actions.OpenRuns(filepath.Join(t.TempDir(), "none")); err != nil || len(runs) > 0 {
		t.Errorf("%v, %v", runs, err)
	}
}

// leftBehind writes a run's file by hand and reads it.
func leftBehind(t *testing.T, content string) actions.OpenRun {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run-20260728T030412.000Z-0a0b0c0d.jsonl"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	runs, err := actions.OpenRuns(dir)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	return runs[0]
}

func planLine(t *testing.T) string {
	t.Helper()
	node := actionstest.Nodes("a", "a1")[0]
	line, err := json.Marshal(map[string]any{"at": "2026-07-28T03:04:12Z", "plan": actions.Plan{
		Verb: actions.Drain, Request: actions.Request{Targets: []actions.Target{node}},
		Steps: []actions.Step{{N: 1, Name: "drain a1"}, {N: 2, Name: "wait until a1 is empty"}, {N: 3, Name: "reboot a1"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

func TestTornLastLineIsTolerated(t *testing.T) {
	run := leftBehind(t, planLine(t)+
		`{"at":"2026-07-28T03:04:13Z","intent":1}`+"\n"+
		`{"at":"2026-07-28T03:04:14Z","result":{"n":1,"name":"drain a1","result":"verified","took_ms":1000}}`+"\n"+
		"not ours\n"+
		`{"at":"2026-07-28T03:04:15Z","intent":2}`+"\n"+
		`{"at":"2026-07-28T03:04:16Z","resu`)
	want := "drain a1 was killed at 2026-07-28T03:04:15Z; ended: drain a1 (verified); " +
		"begun, and perhaps sent: wait until a1 is empty; not begun: reboot a1"
	if got := run.Summary(); got != want {
		t.Errorf("summary\n%s, want\n%s", got, want)
	}
	if run.NotUnderstood != 2 || run.Done[0].Took != time.Second || run.ID != "20260728T030412.000Z-0a0b0c0d" {
		t.Errorf("%d lines not understood, took %s, id %s", run.NotUnderstood, run.Done[0].Took, run.ID)
	}
}

func TestPlanThatCannotBeReadIsStillListed(t *testing.T) {
	run := leftBehind(t, "{\"at\":\n"+`{"at":"2026-07-28T03:04:13Z","intent":1}`)
	if run.Plan != nil || run.NotUnderstood != 1 {
		t.Errorf("plan %v, %d not understood", run.Plan, run.NotUnderstood)
	}
	wantContains(t, run.Summary(), "its plan cannot be read")
}

func TestJournalThatBreaksInTheMiddleLeavesNoKilledRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.SetFault("a1", actionstest.Fault{Delay: time.Second})
		stream, err := r.engine.Run(t.Context(), r.plan(t, actions.Drain, actionstest.Nodes("a", "a1")...), actions.Confirmation{})
		if err != nil {
			t.Fatal(err)
		}
		<-stream
		if err := os.RemoveAll(r.dir); err != nil {
			t.Fatal(err)
		}
		var events []actions.Event
		for ev := range stream {
			events = append(events, ev)
		}
		res := result(t, events)
		if res.Result != actions.Verified {
			t.Errorf("result %s", res.Result)
		}
		wantContains(t, res.Message, "without a journal")
	})
}
