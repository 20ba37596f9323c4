package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

var night = time.Date(2026, 7, 28, 3, 0, 0, 0, time.UTC)

// at is an entry of a drain of gn017 in plan p1, that many minutes into the night.
func at(minute int, change func(e *actions.Entry)) actions.Entry {
	e := actions.Entry{
		At: night.Add(time.Duration(minute) * time.Minute), Phase: actions.PhaseAfter, Plan: "p1", Verb: actions.Drain,
		Cluster: "ai", As: "gpuadm", Step: 1, Name: "drain gn017",
		Target: actions.Target{Kind: fleet.KindNode, Cluster: "ai", Name: "gn017"}, Reason: "XID 79", Ticket: "OPS-12",
	}
	if change != nil {
		change(&e)
	}
	return e
}

func newLog(t *testing.T, entries ...actions.Entry) *Log {
	t.Helper()
	l := Open(filepath.Join(t.TempDir(), "audit"))
	l.who = Who{User: "alice", Host: "login1", TTY: "pts/3", From: "10.0.0.5"}
	for _, e := range entries {
		if err := l.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func read(t *testing.T, l *Log, since time.Time, f Filter) []Record {
	t.Helper()
	records, bad, err := l.Read(since, f)
	if err != nil || bad > 0 {
		t.Fatalf("%d lines not understood, %v", bad, err)
	}
	return records
}

func TestRecordAndRead(t *testing.T) {
	want := at(0, func(e *actions.Entry) {
		e.Command, e.Before, e.After, e.Result = "scontrol update ...", "MIXED", "MIXED+DRAIN", actions.Verified
	})
	l := newLog(t, want)
	got := read(t, l, time.Time{}, Filter{})
	if diff := cmp.Diff([]Record{{Who: l.who, Entry: want}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilesArePrivateAndMonthly(t *testing.T) {
	july, august := at(0, nil), at(0, func(e *actions.Entry) { e.At = night.AddDate(0, 1, 0) })
	l := newLog(t, july, august)
	dir, err := os.Stat(l.dir)
	if err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("folder %v, %v", dir.Mode(), err)
	}
	for _, name := range []string{"audit-2026-07.jsonl", "audit-2026-08.jsonl"} {
		info, err := os.Stat(filepath.Join(l.dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := read(t, l, august.At, Filter{}); len(got) != 1 {
		t.Errorf("%d records since august", len(got))
	}
	if got := read(t, l, time.Time{}, Filter{}); len(got) != 2 {
		t.Errorf("%d records in all", len(got))
	}
}

func TestFilter(t *testing.T) {
	l := newLog(t,
		at(0, nil),
		at(1, func(e *actions.Entry) {
			e.Cluster, e.Plan, e.Verb, e.Target.Name = "ai+prod", "p2", actions.Undrain, ""
			e.Targets = []string{"gn018"}
		}),
	)
	for name, c := range map[string]struct {
		filter Filter
		want   int
	}{
		"all":             {Filter{}, 2},
		"cluster":         {Filter{Cluster: "ai"}, 2},
		"one of clusters": {Filter{Cluster: "prod"}, 1},
		"target":          {Filter{Target: "gn017"}, 1},
		"one of targets":  {Filter{Target: "gn018"}, 1},
		"user":            {Filter{User: "alice"}, 2},
		"other user":      {Filter{User: "bob"}, 0},
		"verb":            {Filter{Verb: actions.Undrain}, 1},
		"together":        {Filter{Verb: actions.Undrain, Target: "gn017"}, 0},
	} {
		if got := read(t, l, time.Time{}, c.filter); len(got) != c.want {
			t.Errorf("%s: %d records, want %d", name, len(got), c.want)
		}
	}
}

func TestUnwritableLogSaysSo(t *testing.T) {
	l := Open("/dev/null/audit")
	if err := l.Ready(); err == nil || !strings.Contains(err.Error(), "/dev/null/audit") {
		t.Errorf("ready: %v", err)
	}
	if err := l.Record(at(0, nil)); err == nil {
		t.Error("recorded nowhere")
	}
}

func TestMissingLogIsEmptyAndReady(t *testing.T) {
	l := Open(filepath.Join(t.TempDir(), "none"))
	if got := read(t, l, time.Time{}, Filter{}); len(got) > 0 {
		t.Errorf("records %v", got)
	}
	if err := l.Ready(); err != nil {
		t.Error(err)
	}
}

func TestTornAndForeignLinesHarmThemselvesOnly(t *testing.T) {
	l := newLog(t, at(0, nil))
	path := filepath.Join(l.dir, "audit-2026-07.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("not ours\n{\"other\":1}\n{\"at\":\"2026-07-28T03:0"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := l.Record(at(1, nil)); err != nil { // must not be glued to the torn line
		t.Fatal(err)
	}
	records, bad, err := l.Read(time.Time{}, Filter{})
	if err != nil || len(records) != 2 || bad != 3 {
		t.Errorf("%d records, %d lines not understood, %v", len(records), bad, err)
	}
}

// Logs that are opened apart lock each other out as processes do.
func TestSeveralWritersLoseNothing(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for writer := range 4 {
		wg.Go(func() {
			l := Open(dir)
			for i := range 25 {
				if err := l.Record(at(i, func(e *actions.Entry) { e.Detail = fmt.Sprint(writer, strings.Repeat("x", 9000)) })); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	records := read(t, Open(dir), time.Time{}, Filter{})
	if len(records) != 100 {
		t.Errorf("%d of 100 records", len(records))
	}
	if !slices.IsSortedFunc(records, func(a, b Record) int { return a.At.Compare(b.At) }) {
		t.Error("records are not in the order of time")
	}
}

func TestTouched(t *testing.T) {
	sent := func(minute, step int, node string) actions.Entry {
		return at(minute, func(e *actions.Entry) {
			e.Phase, e.Step, e.Target.Name = actions.PhaseBefore, step, node
		})
	}
	l := newLog(t,
		sent(0, 1, "old"), sent(10, 2, "gn001"), sent(11, 3, "gn001"), sent(12, 4, "gn002"),
		sent(13, 5, "refused"), at(13, func(e *actions.Entry) { e.Step, e.Result, e.Target.Name = 5, actions.Refused, "refused" }),
		at(14, func(e *actions.Entry) {
			e.Phase, e.Verb, e.Target.Name = actions.PhaseBefore, actions.Undrain, "undrained"
		}),
		at(15, func(e *actions.Entry) { e.Phase, e.Cluster, e.Target.Name = actions.PhaseBefore, "prod", "elsewhere" }),
	)
	got, err := l.Touched("ai", night.Add(5*time.Minute))
	if err != nil || !slices.Equal(got, []string{"gn001", "gn002"}) {
		t.Errorf("touched %v, %v", got, err)
	}
}

func TestWhoami(t *testing.T) {
	env := map[string]string{"SSH_CONNECTION": "10.0.0.5 50000 10.0.0.1 22", "SUDO_USER": "bob"}
	w := Whoami(func(k string) string { return env[k] })
	if w.User == "" || w.From != "10.0.0.5" || w.Sudo != "bob" {
		t.Errorf("%+v", w)
	}
	full := Who{User: "root", Sudo: "bob", Host: "login1", TTY: "pts/3", From: "10.0.0.5"}
	if got := full.String(); got != "root (sudo by bob)@login1 pts/3 from 10.0.0.5" {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"who":{"user":"alice"},"at":"2026-07-28T03:00:00Z","phase":"before","plan":"p1"}` + "\n{\"at\":"))
	f.Add([]byte("\n\nnull\n[]\n{\"phase\":\"after\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, bad := parse(data)
		lines := 0
		for line := range strings.Lines(string(data)) {
			if strings.TrimSpace(line) != "" {
				lines++
			}
		}
		if len(records)+bad > lines+1 {
			t.Errorf("%d records and %d bad of %d lines", len(records), bad, lines)
		}
		var out strings.Builder
		if err := Note(&out, records, time.Time{}); err != nil {
			t.Error(err)
		}
		if err := Table(&out, records); err != nil {
			t.Error(err)
		}
	})
}
