package tui

import (
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/fixture"
	"github.com/gpuctl/gpuctl/internal/tui/tuitest"
)

// busier is a fleet of 1,000 nodes of which one in a hundred changed since the one
// before.
func busier(round int, at time.Time) *fleet.Snapshot {
	s := *fixture.Huge(1000, 800)
	s.Nodes = slices.Clone(s.Nodes)
	for i := round % 100; i < len(s.Nodes); i += 100 {
		n := *s.Nodes[i]
		n.Views = slices.Clone(n.Views)
		n.Views[0].GPUs.Allocated = round % 8
		n.Views[0].Reason = fleet.Reason{Text: "changed", Author: "slurm", At: at}
		s.Nodes[i] = &n
	}
	s.Sources = slices.Clone(s.Sources)
	s.Sources[0].LastSuccess = at
	s.At = at
	return fleet.NewSnapshot(s)
}

// drive shows half a minute of a fleet that changes 5 times a second, with the keys
// of each in between, and returns the bytes a second that the terminal was sent.
func drive(t *testing.T, each func(*tuitest.Screen)) int {
	const rate = 5
	var perSecond int
	onScreen(t, 200, 50, fixture.Huge(1000, 800), nil, func(s *tuitest.Screen, c *console) {
		s.Press("2")
		s.Bytes()
		began := time.Now()
		for round := 0; time.Since(began) < 30*time.Second; round++ {
			next := time.Now().Add(time.Second / rate)
			c.snaps <- busier(round, c.model.opt.Clock())
			each(s)
			s.Advance(time.Until(next))
		}
		perSecond = s.Bytes() * int(time.Second) / int(time.Since(began))
	})
	return perSecond
}

func TestC106_BytesToTheTerminal(t *testing.T) {
	if n := drive(t, func(*tuitest.Screen) {}); n > 3000 {
		t.Errorf("sparse changes cost %d bytes a second, more than 3000", n)
	} else {
		t.Logf("sparse: %d bytes a second", n)
	}
	// With 5 snapshots a second, a key held at 10 a second.
	down := func(s *tuitest.Screen) { s.Hold("j", 2, 90*time.Millisecond) }
	if n := drive(t, down); n > 15000 {
		t.Errorf("scrolling costs %d bytes a second, more than 15000", n)
	} else {
		t.Logf("scrolling: %d bytes a second", n)
	}
}

func BenchmarkView(b *testing.B) {
	for _, page := range []int{1, 2, 4} {
		b.Run(pageName(page), func(b *testing.B) {
			m := still(b, fixture.Huge(7500, 20000))
			m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
			m.show(page)
			b.ReportAllocs()
			for b.Loop() {
				m.View()
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	for _, page := range []int{1, 2, 4} {
		b.Run(pageName(page), func(b *testing.B) {
			s := fixture.Huge(7500, 20000)
			m := still(b, s)
			m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
			m.show(page)
			b.ReportAllocs()
			for b.Loop() {
				m.Update(snapshotMsg{snap: s, open: true})
			}
		})
	}
}

// BenchmarkKey is from a key to the frame that shows it.
func BenchmarkKey(b *testing.B) {
	m := still(b, fixture.Huge(7500, 20000))
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	m.show(1)
	for b.Loop() {
		m.Update(tea.KeyPressMsg{Code: 'j', Text: "j"})
		m.View()
	}
}

func BenchmarkFilter(b *testing.B) {
	m := still(b, fixture.Huge(7500, 20000))
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	m.show(2)
	for b.Loop() {
		m.filterNow("user==alice && gpus>4")
		m.View()
	}
}

func pageName(page int) string {
	return [...]string{"triage", "nodes", "jobs", "", "queue", "timeline"}[page]
}

// BenchmarkKeyMarked is BenchmarkKey with every node marked: what is off is worked
// out anew for every key.
func BenchmarkKeyMarked(b *testing.B) {
	m := still(b, fixture.Huge(7500, 20000))
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	m.show(1)
	m.page().MarkAll()
	for b.Loop() {
		m.Update(tea.KeyPressMsg{Code: 'j', Text: "j"})
		m.View()
	}
}
