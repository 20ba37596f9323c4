package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/fixture"
	"github.com/gpuctl/gpuctl/internal/tui/keys"
	"github.com/gpuctl/gpuctl/internal/tui/tuitest"
)

// calm is longer than a dialog waits for a quiet keyboard.
const calm = time.Second

func typed(s *tuitest.Screen, text string) {
	for _, r := range text {
		s.Press(string(r))
	}
}

func TestDrainFromKeyToBoard(t *testing.T) {
	onScreen(t, 120, 40, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press("2", "j", "d")
		s.Require("drain gpu-node002")
		s.Advance(calm)
		typed(s, "fan broken")
		s.Press("enter")
		s.Require("stops no job", "scontrol update nodename=gpu-node002")
		s.Advance(calm)
		s.Press("y")
		if got := c.engine.confirmations(); len(got) != 1 || !got[0].Yes {
			t.Fatalf("confirmations = %+v", got)
		}
		req := c.engine.requests()[0]
		if req.Verb != actions.Drain || req.Options.Reason != "fan broken" || req.Targets[0] != nodeTarget("gpu-node002") {
			t.Fatalf("request = %+v", req)
		}
		step := actions.Step{N: 1, Name: "drain gpu-node002"}
		c.engine.events <- actions.Event{Started: &step}
		c.engine.events <- actions.Event{Waiting: &actions.Wait{N: 1, State: "MIXED"}}
		s.Settle()
		s.Require("drain gpu-node002  0/1", "MIXED")
		c.engine.events <- actions.Event{Done: &actions.Result{Result: actions.Verified, Steps: []actions.StepResult{{N: 1, Result: actions.Verified}}}}
		close(c.engine.events)
		s.Settle()
		s.Require("verified")
		if off := c.model.off("undo"); off != "" {
			t.Errorf("undo is off: %s", off)
		}
		s.Press("U")
		s.Require("undrain gpu-node002")
	})
}

// A run whose events end without a result must not look as if it went on.
func TestRunWithoutResultIsNotVerified(t *testing.T) {
	onScreen(t, 120, 40, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press("2", "u")
		s.Require("undrain is off: not drained")
		s.Press(":")
		typed(s, "undrain gpu-node057")
		s.Press("enter")
		s.Advance(calm)
		s.Press("y")
		close(c.engine.events)
		s.Settle()
		s.Require("not verified", "ended without a result")
		s.Advance(time.Minute)
		s.Require("not verified") // it stays until it was read
		s.Press("tab", "tab", "x")
		s.Forbid("not verified")
	})
}

func TestC103_KeysTypedBeforeTheDialogNeverAnswerIt(t *testing.T) {
	onScreen(t, 120, 40, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press(":")
		typed(s, "undrain gpu-node057")
		s.Press("enter", "y", "y")
		if got := c.engine.confirmations(); len(got) != 0 {
			t.Fatalf("keys typed ahead confirmed the plan: %+v", got)
		}
		s.Require("ignored")
		s.Advance(calm)
		s.Press("y")
		if got := c.engine.confirmations(); len(got) != 1 {
			t.Fatalf("confirmations = %+v", got)
		}
		close(c.engine.events)
	})
}

func TestC103_PasteOutsideAFieldIsIgnored(t *testing.T) {
	onScreen(t, 80, 24, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press("2")
		s.Send(tea.PasteMsg{Content: "d\nqqq\n"})
		s.Require("pasted text is ignored here")
		if _, _, ended := s.Ended(); ended {
			t.Fatal("pasted text quit the console")
		}
		s.Press("/")
		s.Send(tea.PasteMsg{Content: "state:drain"})
		s.Require("/state:drain")
		s.Forbid("gpu-node001")
	})
}

func TestC111_CursorFollowsIdentity(t *testing.T) {
	onScreen(t, 80, 24, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press("3", "j", "j", "j", "j") // 4740
		p := fixture.Parts()
		p.Jobs = slices.DeleteFunc(p.Jobs, func(j *fleet.Job) bool { return j.ID == "4711" || j.ID == "4720" })
		c.snaps <- fleet.NewSnapshot(p)
		s.Settle()
		if it, ok := c.model.page().Selected(); !ok || it.Subject.Name != "4740" {
			t.Fatalf("cursor is on %+v", it)
		}
		p = fixture.Parts()
		p.Jobs = slices.DeleteFunc(p.Jobs, func(j *fleet.Job) bool { return j.ID == "4740" })
		c.snaps <- fleet.NewSnapshot(p)
		s.Settle()
		if it, ok := c.model.page().Selected(); ok {
			t.Fatalf("the job is gone, but the cursor is on %+v", it)
		}
		s.Press("x")
		s.Require("no job selected")
	})
}

func TestActionsOfManyAreFrozen(t *testing.T) {
	onScreen(t, 120, 40, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press("2", "space", "space", "d")
		s.Require("drain gpu-node001 gpu-node002")
		p := fixture.Parts()
		p.Nodes = p.Nodes[5:]
		c.snaps <- fleet.NewSnapshot(p)
		s.Advance(calm)
		typed(s, "test")
		s.Press("enter")
		got := c.engine.requests()[0].Targets
		if len(got) != 2 || got[0].Name != "gpu-node001" || got[1].Name != "gpu-node002" {
			t.Errorf("targets = %+v", got)
		}
	})
}

func TestReadOnly(t *testing.T) {
	edit := func(o *Options) { o.ReadOnly = "--read-only" }
	onScreen(t, 80, 24, fixture.Fleet(), edit, func(s *tuitest.Screen, c *console) {
		s.Require(" RO ")
		s.Press("2", "d")
		s.Require("drain is off: read-only: --read-only")
		s.Press(":")
		typed(s, "drain gpu-node001 --reason x")
		s.Press("enter")
		if n := len(c.engine.requests()); n != 0 {
			t.Errorf("%d plans were made", n)
		}
	})
}

func TestDownSourceKeepsDataAndSaysSo(t *testing.T) {
	p := fixture.Parts()
	p.Sources[1].Status, p.Sources[1].LastSuccess = fleet.SourceDown, fixture.Now().Add(-5*time.Minute)
	p.Sources[1].ErrorSince, p.Sources[1].LastError = fixture.Now().Add(-4*time.Minute), "slurmctld does not answer"
	p.Sources[1].NextTry = fixture.Now().Add(20 * time.Second)
	onScreen(t, 120, 40, fleet.NewSnapshot(p), nil, func(s *tuitest.Screen, c *console) {
		s.Press("2", "G")
		s.Require("DOWN 5m", "◌ IDLE", "lab down since 4m: slurmctld does not answer; next try in")
		s.Press("d")
		s.Require("drain is off: lab is down: its data are 5m")
	})
}

func TestStartOfLife(t *testing.T) {
	onScreen(t, 80, 24, nil, nil, func(s *tuitest.Screen, c *console) {
		s.Require("starting")
		p := fleet.Snapshot{At: fixture.Now(), Sources: fixture.Parts().Sources[:1]}
		p.Sources[0].Status, p.Sources[0].LastSuccess = fleet.SourceConnecting, time.Time{}
		c.snaps <- fleet.NewSnapshot(p)
		s.Settle()
		s.Require("connecting to ai_cluster via ssh login1 for 0s", "ai_cluster connecting")
		s.Advance(3 * time.Second)
		s.Require("for 3s")
		p = fixture.Parts()
		p.Nodes, p.Jobs, p.Findings = nil, nil, nil
		c.snaps <- fleet.NewSnapshot(p)
		s.Settle()
		s.Press("2")
		s.Require("the sources answer, but list no node")
	})
}

func TestBadFilterNeverBlanksTheList(t *testing.T) {
	onScreen(t, 80, 24, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press("2", "/")
		typed(s, "state:")
		s.Require("not a filter yet", "gpu-node001")
		typed(s, "drained")
		s.Require("2 of 72", "gpu-node057")
		s.Press("enter")
		s.Require("filter state:drained")
		s.Press("esc")
		s.Require("57/72") // the row that the filter had found stays under the cursor
		s.Press("g")
		s.Require("gpu-node001")
		s.Press("/")
		typed(s, "statt:drain")
		s.Press("enter")
		s.Require("all rows are shown", "gpu-node001")
		s.Press("/")
		typed(s, "PSU [OPS-12]")
		s.Press("enter")
		s.Require("gpu-node057")
		s.Forbid("gpu-node001")
	})
}

// Letters typed into a field are text, whatever they mean elsewhere.
func TestFieldsTakeEveryKey(t *testing.T) {
	onScreen(t, 80, 24, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press("2", "/")
		typed(s, "qdxuU123")
		s.Require("/qdxuU123")
		if len(c.engine.requests()) != 0 || c.model.at != 1 {
			t.Error("a letter of the filter acted as a command")
		}
	})
}

func TestQuitAsksWhileAnActionRuns(t *testing.T) {
	for _, key := range []string{"q", "ctrl+c"} {
		onScreen(t, 120, 40, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
			s.Press(":")
			typed(s, "undrain gpu-node057")
			s.Press("enter")
			s.Advance(calm)
			s.Press("y", key)
			if _, _, ended := s.Ended(); ended {
				t.Fatal("it quit without asking")
			}
			s.Require("1 action is still running")
			s.Advance(calm)
			s.Press("j", "enter")
			if _, _, ended := s.Ended(); !ended {
				t.Fatal("it did not quit when told to")
			}
			close(c.engine.events)
		})
	}
}

func TestQuitLeavesTheTerminalClean(t *testing.T) {
	onScreen(t, 80, 24, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press("q")
		if _, err, ended := s.Ended(); !ended || err != nil {
			t.Fatalf("ended %v, error %v", ended, err)
		}
		if s.AltScreen() || s.CursorHidden() {
			t.Error("the terminal is not as it was")
		}
	})
}

func TestCopySaysHow(t *testing.T) {
	onScreen(t, 120, 40, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press("2", "space", "space", "space", "Y")
		s.Require("clipboard (OSC 52): gpu-node[001-003]")
		s.Press("y")
		s.Require("clipboard (OSC 52): 3 lines")
	})
}

func TestDetailFullScreenHasNoBorders(t *testing.T) {
	onScreen(t, 80, 24, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press("2", "enter")
		s.Require("node gpu-node001", "4711", "llama-70b")
		if strings.ContainsAny(s.Text(), "│┌┐└┘─") {
			t.Errorf("borders:\n%s", s.Text())
		}
		s.Press("esc")
		s.Require("gpu-node002")
	})
}

func TestCount(t *testing.T) {
	onScreen(t, 80, 24, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Press("2", "9", "j")
		if it, _ := c.model.page().Selected(); it.Subject.Name != "gpu-node010" {
			t.Errorf("9j went to %s", it.Subject.Name)
		}
		s.Press("0", "1", "2", "k")
		if it, _ := c.model.page().Selected(); it.Subject.Name != "gpu-node001" {
			t.Errorf("012k went to %s", it.Subject.Name)
		}
		s.Press("0", "1", "2", "j")
		if it, _ := c.model.page().Selected(); it.Subject.Name != "gpu-node013" {
			t.Errorf("012j went to %s", it.Subject.Name)
		}
	})
}

func TestC102_ZeroSizeWaits(t *testing.T) {
	onScreen(t, 80, 24, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		s.Send(tea.WindowSizeMsg{})
		s.Send(tea.WindowSizeMsg{Width: 80, Height: 24})
		s.Require("gpuctl")
	})
}

func TestWhatAKilledConsoleLeftIsShown(t *testing.T) {
	edit := func(o *Options) { o.OpenRuns = []string{"drain gpu-node003: step 1 was sent, nobody read it back"} }
	onScreen(t, 80, 24, fixture.Fleet(), edit, func(s *tuitest.Screen, c *console) {
		s.Require("An earlier gpuctl was killed", "nobody read it back")
		s.Advance(calm)
		s.Press("esc")
		s.Forbid("nobody read it back")
	})
}

func TestEveryKeyHasAMethod(t *testing.T) {
	m := still(t, fixture.Fleet())
	if wrong := m.keys.Clashes(); len(wrong) > 0 {
		t.Error(wrong)
	}
	for _, id := range m.keys.IDs() {
		if m.do[id] == nil {
			t.Errorf("%s does nothing", id)
		}
	}
	if why := m.off(keys.Page4); why != "no node agent configured" {
		t.Errorf("GPUs page is off because %q", why)
	}
}

func TestMouseIsOffUntilAskedFor(t *testing.T) {
	onScreen(t, 80, 24, fixture.Fleet(), nil, func(s *tuitest.Screen, c *console) {
		if mode := c.model.View().MouseMode; mode != tea.MouseModeNone {
			t.Errorf("mouse mode %v", mode)
		}
		s.Press("2", ":")
		typed(s, "set mouse on")
		s.Press("enter")
		if mode := c.model.View().MouseMode; mode != tea.MouseModeCellMotion {
			t.Errorf("mouse mode %v", mode)
		}
		s.Send(tea.MouseClickMsg{X: 5, Y: 6})
		if it, _ := c.model.page().Selected(); it.Subject.Name != "gpu-node003" {
			t.Errorf("a click selected %q", it.Subject.Name)
		}
	})
}

func TestPreferencesAreKept(t *testing.T) {
	var kept []Prefs
	edit := func(o *Options) {
		o.Prefs = Prefs{Sort: map[string]string{"Nodes": "-gpus"}, Columns: map[string][]string{"Nodes": {"free", "nonsense"}}, Zone: fixture.Main}
		o.SavePrefs = func(p Prefs) error { kept = append(kept, p); return nil }
	}
	onScreen(t, 200, 50, fixture.Fleet(), edit, func(s *tuitest.Screen, c *console) {
		s.Press("2")
		s.Require("sorted by -gpus", "09:03:22 ai_cluster")
		s.Forbid("FREE")
		s.Press("S")
		if len(kept) == 0 || kept[len(kept)-1].Sort["Nodes"] != "gpus" {
			t.Errorf("kept = %+v", kept)
		}
	})
}
