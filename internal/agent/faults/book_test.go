package faults

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/kmsg"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

const slot = "00000000:05:00.0"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func openBook(t *testing.T, path, boot string) *Book {
	t.Helper()
	b, err := Open(path, boot)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func xidEvent(seq uint64, code int, at time.Time) kmsg.Event {
	return kmsg.Event{Kind: fleet.FaultXID, Code: code, PCI: slot, Text: "Xid", At: at, Seq: seq}
}

func healthy() fleet.GPU {
	return fleet.GPU{
		UUID: "GPU-1", PCI: slot, Health: fleet.GPUHealth{State: fleet.GPUAnswers},
		Checks: []fleet.Check{{Name: fleet.FaultRecovery, Result: fleet.CheckOK}},
	}
}

func evidence(at time.Time, gpus ...fleet.GPU) Evidence {
	return Evidence{At: at, GPUs: gpus, Running: func(int, time.Time) bool { return false }}
}

func stillOpen(b *Book, at time.Time) []int {
	var codes []int
	for _, f := range b.Of(slot, at) {
		if f.IsOpen() {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

func save(t *testing.T, b *Book) {
	t.Helper()
	if err := b.Save(); err != nil {
		t.Fatal(err)
	}
}

func TestKernelLogIsReadOnceOverRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "faults.json")
	b := openBook(t, path, "boot-1")
	b.Kernel(xidEvent(5, 79, noon))
	save(t, b)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	again := openBook(t, path, "boot-1")
	if again.Kernel(xidEvent(5, 79, noon)) || !again.Kernel(xidEvent(6, 79, noon.Add(time.Second))) {
		t.Error("what was read is read again, or what was not is skipped")
	}
	if f := again.Of(slot, noon); len(f) != 1 || f[0].Count != 2 || !f[0].First.Equal(noon) || f[0].BootID != "boot-1" {
		t.Errorf("%+v", f)
	}
	if rebooted := openBook(t, path, "boot-2"); !rebooted.Kernel(xidEvent(1, 31, noon)) {
		t.Error("another boot counts anew")
	}
}

func TestTwoAgentsShareABook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "faults.json")
	a, b := openBook(t, path, "boot-1"), openBook(t, path, "boot-1")
	for _, book := range []*Book{a, b} { // both read the same log
		book.Kernel(xidEvent(1, 79, noon))
		book.Kernel(xidEvent(2, 48, noon))
	}
	save(t, a)
	save(t, b)
	if n := a.Clear(slot, fleet.FaultXID, 79, "bob", noon.Add(time.Minute)); n != 1 {
		t.Errorf("%d cleared", n)
	}
	save(t, a)
	save(t, b) // takes the clearing in
	save(t, a)
	for _, book := range []*Book{a, b, openBook(t, path, "boot-1")} {
		if got := stillOpen(book, noon); !slices.Equal(got, []int{48}) {
			t.Errorf("%v", got)
		}
	}
	if f := b.Of(slot, noon); len(f) != 2 || f[0].Count != 1 {
		t.Errorf("%+v", f)
	}
}

func TestProof(t *testing.T) {
	later := noon.Add(time.Minute)
	for name, tc := range map[string]struct {
		code   int
		change func(*Book, *fleet.GPU)
		gone   bool
	}{
		"nothing happened":       {79, func(*Book, *fleet.GPU) {}, false},
		"reset":                  {79, func(b *Book, _ *fleet.GPU) { b.WasReset(slot, later) }, true},
		"reset before":           {79, func(b *Book, _ *fleet.GPU) { b.WasReset(slot, noon.Add(-time.Hour)) }, false},
		"reset, and still lost":  {79, func(b *Book, g *fleet.GPU) { b.WasReset(slot, later); g.Health.State = fleet.GPULost }, false},
		"reset, and a bad check": {79, func(b *Book, g *fleet.GPU) { b.WasReset(slot, later); g.Checks[0].Result = fleet.CheckBad }, false},
		"reset, and it came again": {79, func(b *Book, _ *fleet.GPU) {
			b.WasReset(slot, later)
			b.Kernel(xidEvent(9, 79, later.Add(time.Second)))
		}, false},
		"another board":         {79, func(_ *Book, g *fleet.GPU) { g.UUID = "GPU-2" }, true},
		"process ended":         {31, func(b *Book, _ *fleet.GPU) { b.find(slot, fleet.FaultXID, 31).PID = 7 }, true},
		"process not known":     {31, func(*Book, *fleet.GPU) {}, false},
		"not the application's": {95, func(b *Book, _ *fleet.GPU) { b.find(slot, fleet.FaultXID, 95).PID = 7 }, false},
	} {
		b := openBook(t, "", "boot-1")
		g := healthy()
		b.Judge(evidence(noon, g))
		b.Kernel(xidEvent(1, tc.code, noon.Add(time.Second)))
		tc.change(b, &g)
		at := noon.Add(10 * time.Minute)
		b.Judge(evidence(at, g))
		if got := stillOpen(b, at); (len(got) == 0) != tc.gone {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRecoveryActionFollowsTheDriver(t *testing.T) {
	b := openBook(t, "", "boot-1")
	g := healthy()
	b.Judge(evidence(noon, g))
	b.Kernel(xidEvent(1, 95, noon))
	b.Kernel(kmsg.Event{Kind: fleet.FaultRecovery, Code: 4, PCI: slot, At: noon, Seq: 1})
	b.Kernel(kmsg.Event{Kind: fleet.FaultRecovery, Code: 1, PCI: slot, At: noon.Add(time.Second), Seq: 2})
	if got := stillOpen(b, noon); !slices.Equal(got, []int{95, 1}) {
		t.Errorf("the newer action holds: %v", got)
	}
	g.Checks[0].Result = fleet.CheckBad
	g.Faults = []fleet.Fault{{Kind: fleet.FaultRecovery, Code: 2, Text: "reboot"}}
	b.Judge(evidence(noon.Add(2*time.Second), g))
	if got := stillOpen(b, noon); !slices.Equal(got, []int{95, 2}) {
		t.Errorf("what the driver reads overrides the log: %v", got)
	}
	b.Judge(evidence(noon.Add(3*time.Second), healthy())) // somebody did what it asked for
	b.Judge(evidence(noon.Add(4*time.Second), healthy()))
	if got := stillOpen(b, noon); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

func TestBookStaysSmall(t *testing.T) {
	b := openBook(t, "", "boot-1")
	for i := range 3 * maxEntries {
		b.Kernel(xidEvent(uint64(i+1), i, noon))
	}
	if n := len(b.entries); n != maxEntries {
		t.Errorf("%d entries", n)
	}
	b.Clear(slot, fleet.FaultXID, 2999, "bob", noon)
	b.Judge(evidence(noon.Add(2*keepCleared), healthy()))
	if b.find(slot, fleet.FaultXID, 2999) != nil || len(b.entries) != maxEntries-1 {
		t.Errorf("%d entries", len(b.entries))
	}
}

func TestBrokenFileIsToldAndReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "faults.json")
	if err := os.WriteFile(path, []byte(`{"entries":[null,{"Kind":`), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Open(path, "boot-1")
	if err == nil {
		t.Error("a torn file is no problem")
	}
	b.Kernel(xidEvent(1, 79, noon))
	save(t, b)
	if got := stillOpen(openBook(t, path, "boot-1"), noon); !slices.Equal(got, []int{79}) {
		t.Errorf("%v", got)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"boot":"b","seq":3,"entries":[{"Kind":"xid","Code":79,"PCI":"00000000:05:00.0"},null],"known":{"x":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "faults.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		b, _ := Open(path, "b")
		b.Kernel(xidEvent(1<<63, 79, noon))
		b.Judge(evidence(noon.Add(time.Minute), healthy()))
		if err := b.Save(); err != nil {
			t.Fatal(err)
		}
	})
}
