// Package faults keeps what happened to the devices of a host: since when, how often,
// in which boot. A fault stays until a check proves it gone or a person clears it; a
// restart of the agent changes nothing, for the book is a file.
//
// Two sources tell of the same thing, the kernel log and the driver's events. The
// driver repeats one code for several of a burst, so a fault has happened as often as
// the source that saw it more often says.
//
// It imports agent/kmsg, agent/pci and fleet. A Book is safe for concurrent use, and several
// agents of one host may share its file.
package faults

import (
	"slices"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/kmsg"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Where a fault is known from, in Fault.Source.
const (
	SourceKernel = "kmsg"
	SourceEvent  = "nvml-event"
	SourceDriver = "nvml"
)

const (
	// keepCleared is how long a cleared fault is still shown.
	keepCleared = time.Hour
	maxEntries  = 1000
)

// entry is one fault with what is needed to judge it.
type entry struct {
	fleet.Fault
	UUID   string    // of the board that it happened to, when known
	Kernel int       // how often the kernel log told it
	Event  int       // how often the driver did
	Reset  time.Time // of the device, after the fault
}

func (e *entry) open() bool { return e.Cleared.IsZero() }

func (e *entry) clear(at time.Time, by string) { e.Cleared, e.By = at, by }

// Book is the faults of one host.
type Book struct {
	path string
	boot string

	mu      sync.Mutex
	entries []*entry
	seq     uint64 // of the last record of the kernel log that is in the book
	skip    uint64 // what an earlier run of the agent has read
	known   map[string]Identity
	dirty   bool
	stamp   stamp // of the file when it was last read or written
}

// Identity is what a device was when it last answered.
type Identity struct {
	UUID, Model, Serial string
	Index, Minor        int
	Boot                string
}

// Kernel enters an event of the kernel log. It reports whether the book changed.
func (b *Book) Kernel(e kmsg.Event) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Seq <= b.skip {
		return false
	}
	b.seq = max(b.seq, e.Seq)
	f := fleet.Fault{
		Kind: e.Kind, Code: e.Code, Text: e.Text, PCI: e.PCI, PID: e.PID, Process: e.Process,
		First: e.At, Last: e.At, Source: SourceKernel,
	}
	if e.Kind == fleet.FaultRecovery {
		b.newAction(e.PCI, e.Code, e.At)
		if e.Code == 0 {
			return true
		}
	}
	b.enter(&f).Kernel++
	return true
}

// Event enters an event of the driver about the board with the UUID at pci.
func (b *Book) Event(uuid, pci, kind string, code int, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.enter(&fleet.Fault{Kind: kind, Code: code, PCI: pci, First: at, Last: at, Source: SourceEvent})
	e.Event++
	e.UUID = uuid
}

// Enter enters a fault that the agent itself found.
func (b *Book) Enter(f fleet.Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.enter(&f)
}

// enter finds the open fault of that kind, or makes it. What the kernel log says of it
// has the words and the process; the driver only the number.
func (b *Book) enter(f *fleet.Fault) *entry {
	b.dirty = true
	e := b.find(f.PCI, f.Kind, f.Code)
	if e == nil {
		e = &entry{Fault: *f, UUID: b.known[f.PCI].UUID}
		e.BootID = b.boot
		b.entries = append(b.entries, e)
		b.bound()
		return e
	}
	e.BootID = b.boot
	if f.Last.After(e.Last) {
		e.Last = f.Last
	}
	if e.Last.After(e.Reset) {
		e.Reset = time.Time{} // it came again
	}
	if f.First.Before(e.First) {
		e.First = f.First
	}
	if f.Source == SourceKernel {
		e.Text, e.PID, e.Process, e.Source = f.Text, f.PID, f.Process, SourceKernel
	}
	return e
}

// find returns the open fault, or nil.
func (b *Book) find(pci, kind string, code int) *entry {
	for _, e := range b.entries {
		if e.open() && e.PCI == pci && e.Kind == kind && e.Code == code {
			return e
		}
	}
	return nil
}

// newAction takes a changed recovery action down: the one before no longer holds.
func (b *Book) newAction(pci string, code int, at time.Time) {
	for _, e := range b.entries {
		if !e.open() || e.PCI != pci || e.Kind != fleet.FaultRecovery || e.Code == code {
			continue
		}
		b.dirty = true
		if code == 0 {
			e.clear(at, "the driver: no recovery action is due any more")
			b.wasReset(pci, at)
		} else {
			e.clear(at, "the driver: another recovery action is due")
		}
	}
}

// WasReset takes down that a device was reset: what a reset cures can now be proven
// gone.
func (b *Book) WasReset(pci string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wasReset(pci, at)
}

func (b *Book) wasReset(pci string, at time.Time) {
	for _, e := range b.entries {
		if e.open() && e.PCI == pci && !e.Last.After(at) {
			e.Reset = at
			b.dirty = true
		}
	}
}

// Clear takes down that a person has dealt with a fault. It reports how many there
// were.
func (b *Book) Clear(pci, kind string, code int, by string, at time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, e := range b.entries {
		if e.open() && e.PCI == pci && e.Kind == kind && e.Code == code {
			e.clear(at, by)
			b.dirty = true
			n++
		}
	}
	return n
}

// Of lists the faults of the device at pci, the oldest first; those that were cleared
// an hour ago or more are left out.
func (b *Book) Of(pci string, now time.Time) []fleet.Fault {
	return b.list(now, func(e *entry) bool { return e.PCI == pci })
}

// Others lists the faults of devices that are not among these.
func (b *Book) Others(pcis []string, now time.Time) []fleet.Fault {
	return b.list(now, func(e *entry) bool { return !slices.Contains(pcis, e.PCI) })
}

func (b *Book) list(now time.Time, want func(*entry) bool) []fleet.Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []fleet.Fault
	for _, e := range b.entries {
		if want(e) && (e.open() || now.Sub(e.Cleared) < keepCleared) {
			f := e.Fault
			f.Count = max(1, e.Kernel, e.Event)
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, c fleet.Fault) int { return a.First.Compare(c.First) })
	return out
}

// bound keeps the book small: a log gone mad must not fill the memory. What was
// cleared goes first.
func (b *Book) bound() {
	if len(b.entries) <= maxEntries {
		return
	}
	drop := slices.IndexFunc(b.entries, func(e *entry) bool { return !e.open() })
	b.entries = slices.Delete(b.entries, max(0, drop), max(0, drop)+1)
}
