package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/fixture"
)

// still is a console without a program: messages go in by hand.
func still(tb testing.TB, s *fleet.Snapshot) *Model {
	tb.Helper()
	o := opt(&engine{guard: actions.GuardConfirm}, nil)
	o.Clock = fixture.Now
	m, err := New(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	m.Update(snapshotMsg{snap: s, open: true})
	return m
}

// exact fails unless the screen is width x height cells, line by line.
func exact(tb testing.TB, m *Model, width, height int, what string) {
	tb.Helper()
	lines := strings.Split(m.screen(), "\n")
	if len(lines) != height {
		tb.Fatalf("%s at %dx%d: %d lines", what, width, height, len(lines))
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w != width {
			tb.Fatalf("%s at %dx%d: line %d has %d cells: %q", what, width, height, i, w, ansi.Strip(l))
		}
	}
}

func TestEverySizeIsExact(t *testing.T) {
	m := still(t, fixture.Fleet())
	plan := &actions.Plan{ID: "p", Verb: actions.Drain, Targets: []actions.TargetPlan{{Target: nodeTarget("gpu-node001")}}, Steps: []actions.Step{{N: 1, Name: "drain"}, {N: 2, Name: "wait"}}}
	states := map[string]func(){
		"triage":   func() { m.show(0) },
		"nodes":    func() { m.show(1) },
		"jobs":     func() { m.show(2) },
		"queue":    func() { m.show(4) },
		"timeline": func() { m.show(5) },
		"pane":     func() { m.show(1); m.setFocus(onDetail) },
		"full":     func() { m.show(2); m.openDetail(1) },
		"filter":   func() { m.show(1); m.startFilter(1) },
		"palette":  func() { m.startPrompt(1) },
		"help":     func() { m.help(1) },
		"board":    func() { m.boards.Start(plan, fixture.Now()); m.show(1); m.setFocus(onBoards) },
	}
	from := 0
	for what, enter := range states {
		enter()
		from++ // so that the states together meet nearly every width and height
		for w := 20 + from; w <= 250; w += 11 {
			for h := 5 + from%7; h <= 80; h += 7 {
				m.Update(tea.WindowSizeMsg{Width: w, Height: h})
				exact(t, m, w, h, what)
			}
		}
		m.field, m.prompt = nil, false
		m.dialogs.Close()
	}
}

// Smaller than anything one works on, but nothing may break.
func TestC102_TinySizes(t *testing.T) {
	m := still(t, fixture.Fleet())
	for w := range 20 {
		for h := range 8 {
			m.Update(tea.WindowSizeMsg{Width: w, Height: h})
			if w > 0 && h > 0 {
				exact(t, m, w, h, "tiny")
			} else if m.screen() != "" {
				t.Errorf("%dx%d is drawn", w, h)
			}
		}
	}
}

func TestASCIIDrawsASCIIOnly(t *testing.T) {
	o := opt(&engine{}, nil)
	o.ASCII, o.NoColor, o.Clock = true, true, fixture.Now
	m, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p := fixture.WatchedParts()
	p.Jobs = p.Jobs[:4] // a job's own name may hold anything
	m.Update(snapshotMsg{snap: fleet.NewSnapshot(p), open: true})
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	for i := range m.pages {
		m.show(i)
		m.page().Move(45 * 8) // on the GPUs page a partitioned one
		m.follow()
		for _, r := range ansi.Strip(m.screen()) {
			if r > 126 {
				t.Fatalf("page %d draws %q", i, r)
			}
		}
	}
}

// Many clusters on a narrow screen: those in trouble are named, the rest counted.
func TestHeaderNamesTroubleFirst(t *testing.T) {
	p := fixture.Parts()
	for i := range 9 {
		src := p.Sources[0]
		src.Name = "cluster-" + string(rune('a'+i))
		p.Sources = append(p.Sources, src)
	}
	p.Sources[7].Status = fleet.SourceDown
	m := still(t, fleet.NewSnapshot(p))
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	head, _, _ := strings.Cut(ansi.Strip(m.screen()), "\n")
	if !strings.Contains(head, "cluster-f DOWN") || !strings.Contains(head, " +8 ") {
		t.Errorf("header = %q", head)
	}
}
