package audit

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuctl/gpuctl/internal/actions"
)

// shift is a night: a node drained long before it, one drained in it, a requeue
// that nobody saw work, one that was done again, a refusal, and a kill.
func shift(t *testing.T) []Record {
	t.Helper()
	step := func(minute int, plan string, verb actions.Verb, target string, o actions.Outcome) actions.Entry {
		return at(minute, func(e *actions.Entry) {
			e.Plan, e.Verb, e.Name, e.Target.Name, e.Result = plan, verb, string(verb)+" "+target, target, o
			e.Before, e.After = "IDLE", "as asked"
		})
	}
	end := func(minute int, plan string, verb actions.Verb, target string, o actions.Outcome, detail string) actions.Entry {
		return at(minute, func(e *actions.Entry) {
			e.Phase, e.Plan, e.Verb, e.Result, e.Detail = actions.PhaseDone, plan, verb, o, detail
			e.Step, e.Name, e.Target, e.Targets = 0, "", actions.Target{}, []string{target}
		})
	}
	l := newLog(t,
		step(-600, "p0", actions.Drain, "gn001", actions.Verified),
		end(-600, "p0", actions.Drain, "gn001", actions.Verified, "verified"),
		step(-500, "p00", actions.Drain, "gn002", actions.Verified),
		step(1, "p1", actions.Undrain, "gn002", actions.Verified),
		end(1, "p1", actions.Undrain, "gn002", actions.Verified, "undrain gn002: verified"),
		step(4, "p2", actions.Drain, "gn017", actions.Verified),
		end(5, "p2", actions.Drain, "gn017", actions.Verified, "drain gn017: verified"),
		end(6, "p3", actions.Requeue, "4711", actions.NotVerified, "time ran out | last seen: *RUNNING*"),
		end(7, "p4", actions.Requeue, "4712", actions.NotVerified, "time ran out"),
		end(8, "p5", actions.Requeue, "4712", actions.Verified, "requeue 4712: verified"),
		at(9, func(e *actions.Entry) {
			e.Phase, e.Plan, e.Step, e.Targets, e.Result = actions.PhaseRefused, "p6", 0, []string{"gn017"}, actions.Refused
			e.Detail, e.Name, e.Target = "gpuctl is read-only", "", actions.Target{}
		}),
		at(10, func(e *actions.Entry) {
			e.Phase, e.Plan, e.Verb, e.Command = actions.PhaseBefore, "p7", actions.Cancel, "scancel 4713"
		}),
	)
	return read(t, l, time.Time{}, Filter{})
}

func note(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := Note(&b, shift(t), night); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNoteSaysWhatIsStillOpen(t *testing.T) {
	_, open, _ := strings.Cut(note(t), "## Still open\n\n")
	open, _, _ = strings.Cut(open, "\n## What was done")
	want := `- gn001 on ai is out of service since 2026-07-27 17:00:00Z by alice: XID 79 \[OPS-12\]
- gn017 on ai is out of service since 2026-07-28 03:04:00Z by alice: XID 79 \[OPS-12\]
- requeue 4711 on ai, 2026-07-28 03:06:00Z: not verified: time ran out \| last seen: \*RUNNING\*
- cancel gn017 on ai, 2026-07-28 03:10:00Z: no end recorded
`
	if diff := cmp.Diff(want, open); diff != "" {
		t.Error(diff)
	}
}

func TestNoteSaysWhatWasDone(t *testing.T) {
	_, done, _ := strings.Cut(note(t), "## What was done\n")
	want := `
### 2026-07-28 03:04:00Z drain gn017: verified

- who: alice@login1 pts/3 from 10.0.0.5
- as: gpuadm on ai
- where: ai
- why: XID 79 \[OPS-12\]
- result: drain gn017: verified
- plan: p2

| time | step | command | result | before | after |
|---|---|---|---|---|---|
| 03:04:00Z | drain gn017 |  | verified | IDLE | as asked |
`
	if !strings.Contains(done, want) {
		t.Errorf("the drain is not in\n%s", done)
	}
	for _, part := range []string{"drain gn017: refused", "| scancel 4713 | no end recorded |"} {
		if !strings.Contains(done, part) {
			t.Errorf("%q is not in\n%s", part, done)
		}
	}
	if strings.Contains(done, "gn001") {
		t.Error("what was done before the shift is among what was done in it")
	}
}

func TestNoteOfAQuietShift(t *testing.T) {
	var b strings.Builder
	if err := Note(&b, nil, night); err != nil {
		t.Fatal(err)
	}
	want := "# Shift note since 2026-07-28 03:00:00Z\n\n## Still open\n\nNothing.\n\n## What was done\n\nNothing.\n"
	if b.String() != want {
		t.Error(b.String())
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	records := shift(t)
	records[len(records)-1].Reason = "evil\x1b[2J\nline"
	if err := Table(&b, records); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 11 || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%d lines:\n%s", len(lines), b.String())
	}
	want := "2026-07-28 03:04:00Z  alice  drain    gn017    ai       gpuadm on ai  verified         XID 79 [OPS-12]"
	if !strings.Contains(b.String(), want) {
		t.Errorf("no line %q in\n%s", want, b.String())
	}
}
