package dialog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

var start = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

func mono(t *testing.T) *theme.Theme {
	t.Helper()
	th, err := theme.Load("mono", nil)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func key(name string) tea.KeyPressMsg {
	switch name {
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "tab":
		return tea.KeyPressMsg{Code: tea.KeyTab}
	case "down":
		return tea.KeyPressMsg{Code: tea.KeyDown}
	case "right":
		return tea.KeyPressMsg{Code: tea.KeyRight}
	case "pgdown":
		return tea.KeyPressMsg{Code: tea.KeyPgDown}
	case "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// desk is a stack that was drawn and then left alone for long enough.
type desk struct {
	Stack
	now time.Time
}

func open(d Dialog) *desk {
	k := &desk{now: start}
	k.Open(d, k.now)
	k.see()
	return k
}

func (k *desk) see() {
	k.View(strings.TrimSuffix(strings.Repeat(strings.Repeat(" ", 80)+"\n", 24), "\n"), 80, 24)
	k.now = k.now.Add(time.Second)
}

func (k *desk) press(names ...string) {
	for _, n := range names {
		k.Press(key(n), k.now)
		k.now = k.now.Add(100 * time.Millisecond)
	}
}

func (k *desk) typed(text string) {
	for _, r := range text {
		k.press(string(r))
	}
}

func drainPlan(guard actions.Guard, nodes int) *actions.Plan {
	p := &actions.Plan{
		ID: "p1", Verb: actions.Drain, Guard: guard, Word: "gpu-node017",
		Request:  actions.Request{Verb: actions.Drain, Options: actions.Options{Reason: "XID 79"}},
		Clusters: []actions.Acting{{Cluster: "ai_cluster", User: "gpuop", Role: fleet.RoleAdministrator, Via: "ssh login1"}},
		Impact:   actions.Impact{Nodes: nodes, Jobs: []string{"4711", "4712"}, Users: []string{"alice", "bob"}, GPUs: 512, GPUHours: 1408, Note: "no complete checkpoint"},
		Warnings: []string{"job 4711 has no checkpoint: all it computed is lost"},
		UndoneBy: []string{"NHC on the node"},
		Inverse:  &actions.Request{Verb: actions.Undrain},
	}
	for i := range nodes {
		name := fmt.Sprintf("gpu-node%03d", 17+i)
		target := actions.Target{Kind: fleet.KindNode, Cluster: "ai_cluster", Name: name}
		fate, why := actions.FateAct, ""
		if i%4 == 3 {
			fate, why = actions.FateSkip, "already drained by bob"
		}
		p.Targets = append(p.Targets, actions.TargetPlan{Target: target, Fate: fate, Why: why, Before: "MIXED"})
		if fate == actions.FateAct {
			p.Steps = append(p.Steps, actions.Step{
				N: len(p.Steps) + 1, Name: "drain", Target: target,
				Command: "scontrol update NodeName=" + name + " State=DRAIN Reason=\"XID 79\"", Expect: "DRAIN on " + name,
			})
		}
	}
	return p
}

// answers counts what was let run.
type answers []actions.Confirmation

func (a *answers) run(c actions.Confirmation) tea.Cmd {
	*a = append(*a, c)
	return nil
}

func TestC103_KeysTypedBeforeTheDialogWasDrawnNeverAnswerIt(t *testing.T) {
	var a answers
	var s Stack
	s.Open(NewConfirm(mono(t), drainPlan(actions.GuardConfirm, 1), a.run), start)
	s.Press(key("y"), start.Add(time.Hour)) // not drawn, however long ago
	s.View("", 80, 24)
	s.Press(key("y"), start.Add(time.Hour+Quiet/2)) // drawn, but the finger still on the key
	s.Press(key("y"), start.Add(time.Hour+Quiet))
	if len(a) != 0 || s.Top() == nil {
		t.Fatal("an early key answered")
	}
	if got := s.Notice(); got != "3 keys typed before the dialog was drawn are ignored" {
		t.Errorf("notice: %q", got)
	}
	s.Press(key("y"), start.Add(time.Hour+3*Quiet))
	if len(a) != 1 || !a[0].Yes || s.Top() != nil {
		t.Errorf("a late key did not answer: %v", a)
	}
}

func TestC103_PasteAnswersNothing(t *testing.T) {
	var a answers
	k := open(NewConfirm(mono(t), drainPlan(actions.GuardTyped, 1), a.run))
	if k.Paste("gpu-node017") {
		t.Error("a confirmation takes pasted text")
	}
	k.press("enter")
	if len(a) != 0 {
		t.Error("confirmed")
	}
}

func TestConfirmGuards(t *testing.T) {
	for _, c := range []struct {
		name  string
		guard actions.Guard
		typed []string
		want  []actions.Confirmation
	}{
		{"yes", actions.GuardConfirm, []string{"y"}, []actions.Confirmation{{Yes: true}}},
		{"enter is not yes", actions.GuardConfirm, []string{"enter"}, nil},
		{"no", actions.GuardConfirm, []string{"n"}, nil},
		{"escape", actions.GuardConfirm, []string{"esc"}, nil},
		{"none", actions.GuardNone, []string{"enter"}, []actions.Confirmation{{Yes: true}}},
		{"y is not the word", actions.GuardTyped, []string{"y", "enter"}, nil},
		{"empty is not the word", actions.GuardTyped, []string{"enter"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a answers
			open(NewConfirm(mono(t), drainPlan(c.guard, 1), a.run)).press(c.typed...)
			if !slices.Equal(a, c.want) {
				t.Errorf("%v, want %v", a, c.want)
			}
		})
	}
}

func TestConfirmTyped(t *testing.T) {
	var a answers
	k := open(NewConfirm(mono(t), drainPlan(actions.GuardTyped, 1), a.run))
	k.typed("gpu-node018")
	k.press("enter")
	if len(a) != 0 {
		t.Fatal("the wrong word confirms")
	}
	k.typed("gpu-node017")
	k.press("enter")
	if len(a) != 1 || a[0].Word != "gpu-node017" {
		t.Errorf("%v", a)
	}
}

func TestConfirmRefusesWhatIsBlocked(t *testing.T) {
	blocked := drainPlan(actions.GuardConfirm, 1)
	blocked.Blockers = []actions.Blocker{{Code: actions.BlockCap, Text: "cap"}, {Code: actions.BlockSource, Text: "ai_cluster is stale"}}
	nothing := drainPlan(actions.GuardNone, 1)
	nothing.Steps = nil
	wordless := drainPlan(actions.GuardTyped, 1)
	wordless.Word = ""
	for _, p := range []*actions.Plan{blocked, nothing, wordless} {
		var a answers
		k := open(NewConfirm(mono(t), p, a.run))
		k.press("y", "enter", "enter")
		if len(a) != 0 || k.Top() != nil {
			t.Errorf("%v: %v", p.Blockers, a)
		}
	}
}

func TestConfirmLiftsTheCapByName(t *testing.T) {
	for _, guard := range []actions.Guard{actions.GuardConfirm, actions.GuardTyped} {
		p := drainPlan(guard, 2)
		p.Blockers = []actions.Blocker{{Code: actions.BlockCap, Text: "4 nodes in 10 minutes are allowed, this makes 6"}}
		p.Word = "ai_cluster"
		var a answers
		k := open(NewConfirm(mono(t), p, a.run))
		k.typed("ai_cluster")
		k.press("enter")
		if len(a) != 0 {
			t.Fatalf("%s: lifting the cap also confirms", guard)
		}
		if guard == actions.GuardTyped {
			k.typed("ai_cluster")
			k.press("enter")
		} else {
			k.press("y")
		}
		if len(a) != 1 || a[0].Override != "ai_cluster" {
			t.Errorf("%s: %v", guard, a)
		}
	}
}

func TestConfirmGolden(t *testing.T) {
	blocked := drainPlan(actions.GuardConfirm, 1)
	blocked.Blockers = []actions.Blocker{{Code: actions.BlockReadOnly, Text: "this console is read-only: started with --read-only"}}
	blocked.Impact = actions.Impact{}
	blocked.Inverse = nil
	k := open(NewConfirm(mono(t), drainPlan(actions.GuardTyped, 30), (&answers{}).run))
	var b strings.Builder
	show := func(name string, d Dialog, w, h int) {
		fmt.Fprintf(&b, "== %s %dx%d\n%s\n", name, w, h, ansi.Strip(d.View(w, h)))
	}
	show("typed", k.Top(), 80, 24)
	k.press("pgdown")
	show("further down", k.Top(), 80, 24)
	show("small", k.Top(), 40, 10)
	show("tiny", k.Top(), 11, 4)
	show("blocked", NewConfirm(mono(t), blocked, nil), 120, 40)
	show("ascii", NewConfirm(mono(t).ASCII(), drainPlan(actions.GuardConfirm, 1), nil), 100, 40)
	golden.RequireEqual(t, b.String())
}

func TestForm(t *testing.T) {
	var got Values
	f := NewForm(mono(t), "drain gpu-node017", "Why is it taken out of service?", []FormField{
		{ID: "reason", Label: "Reason", Required: true, Help: "for the scheduler and the audit log"},
		{ID: "ticket", Label: "Ticket", Check: func(s string) error {
			if s != "" && !strings.Contains(s, "-") {
				return errors.New("looks like OPS-1234")
			}
			return nil
		}},
		{ID: "signal", Label: "Signal", Choices: []string{"TERM", "USR1", "KILL"}, Value: "USR1"},
		{ID: "now", Label: "At once", Bool: true},
	}, func(v Values) tea.Cmd { got = v; return nil })
	k := open(f)
	k.press("enter")
	if got != nil || !strings.Contains(f.View(80, 24), "Reason: must be filled in") {
		t.Fatal("a required field is empty, and nothing is said")
	}
	k.typed("XID 79 jk")
	k.press("tab")
	k.typed("ops")
	k.press("enter")
	if got != nil || !strings.Contains(f.View(80, 24), "OPS-1234") {
		t.Fatal("a check fails, and nothing is said")
	}
	k.Paste("-12\n")
	k.press("down", "right", "down", "space")
	golden.RequireEqual(t, ansi.Strip(f.View(60, 20)))
	k.press("enter")
	want := Values{"reason": "XID 79 jk", "ticket": "ops-12", "signal": "KILL", "now": "true"}
	if fmt.Sprint(got) != fmt.Sprint(want) || !got.Bool("now") || k.Top() != nil {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMenu(t *testing.T) {
	items := []Item{{Key: "r", Label: "retry"}, {Key: "u", Label: "undo", Off: "nothing was done"}, {Label: "leave it", Help: "the node stays drained"}}
	for _, c := range []struct {
		keys string
		want int
	}{{"enter", 0}, {"r", 0}, {"u", -1}, {"down enter", -1}, {"down down enter", 2}, {"esc", -1}, {"x", -1}} {
		got := -1
		k := open(NewMenu(mono(t), "drain failed", items, func(i int) tea.Cmd { got = i; return nil }))
		k.press(strings.Fields(c.keys)...)
		if got != c.want {
			t.Errorf("%s chooses %d, want %d", c.keys, got, c.want)
		}
	}
}

func TestTicks(t *testing.T) {
	var got []bool
	items := []Item{{Label: "NODE", On: true, Off: "always shown"}, {Label: "STATE", On: true}, {Label: "GPUS"}}
	m := NewTicks(mono(t), "columns", items, func(on []bool) tea.Cmd { got = on; return nil })
	k := open(m)
	k.press("space", "down", "space", "down", "space")
	golden.RequireEqual(t, ansi.Strip(m.View(60, 20)))
	k.press("enter")
	if !slices.Equal(got, []bool{true, false, true}) {
		t.Errorf("%v", got)
	}
	if !items[1].On {
		t.Error("the caller's items were changed")
	}
}

func TestAnswerMayOpenAnotherDialog(t *testing.T) {
	var k *desk
	second := NewMessage(mono(t), "second", Plain("two"))
	k = open(NewMenu(mono(t), "first", []Item{{Label: "go"}}, func(int) tea.Cmd {
		k.Open(second, k.now)
		return nil
	}))
	k.press("enter")
	if k.Top() != Dialog(second) {
		t.Fatal("the second dialog is not on top")
	}
	k.press("esc")
	if k.Top() == nil {
		t.Error("a key meant for the first closed the second")
	}
	k.see()
	k.press("esc")
	if k.Top() != nil {
		t.Error("still open")
	}
}

func TestMessageScrolls(t *testing.T) {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "line %d of \x1b[31mmany\n", i)
	}
	m := NewMessage(mono(t), "log of job 4711", Plain(text.String()))
	k := open(m)
	k.press("pgdown", "j")
	if view := m.View(80, 24); !strings.Contains(view, "line 21 of many") || strings.Contains(view, "line 20 ") {
		t.Error(view)
	}
	k.press("G")
	if view := m.View(80, 24); !strings.Contains(view, "line 49") {
		t.Error(view)
	}
}

func TestEverySizeIsExact(t *testing.T) {
	th := mono(t)
	dialogs := []Dialog{
		NewConfirm(th, drainPlan(actions.GuardTyped, 30), nil),
		NewConfirm(th, drainPlan(actions.GuardConfirm, 1), nil),
		NewForm(th, "form", "An introduction that is longer than a narrow screen.", []FormField{{ID: "a", Label: "Reason"}, {ID: "b", Label: "Sure", Bool: true}}, nil),
		NewMenu(th, "menu", []Item{{Key: "a", Label: "one 漢字", Help: "help"}, {Label: "two", Off: "why"}}, nil),
		NewTicks(th, "ticks with a title that is longer than a narrow screen", []Item{{Label: "one"}}, nil),
		NewMessage(th, "message", Plain(strings.Repeat("words and 漢字 ", 200))),
	}
	for _, d := range dialogs {
		for w := 1; w <= 250; w += 1 + w/5 {
			for h := 1; h <= 80; h += 1 + h/4 {
				exact(t, d, w, h)
			}
		}
	}
}

// exact checks the box alone and laid over a screen of wide characters.
func exact(t *testing.T, d Dialog, w, h int) {
	t.Helper()
	box := strings.Split(d.View(w, h), "\n")
	if len(box) > h {
		t.Fatalf("%T at %dx%d: %d lines", d, w, h, len(box))
	}
	for _, l := range box {
		if ansi.StringWidth(l) != ansi.StringWidth(box[0]) || ansi.StringWidth(l) > w {
			t.Fatalf("%T at %dx%d: %d cells in %q", d, w, h, ansi.StringWidth(l), l)
		}
	}
	var s Stack
	s.Open(d, start)
	behind := strings.TrimSuffix(strings.Repeat(strings.Repeat("漢", w/2)+strings.Repeat("x", w%2)+"\n", h), "\n")
	lines := strings.Split(s.View(behind, w, h), "\n")
	if len(lines) != h {
		t.Fatalf("%T over %dx%d: %d lines", d, w, h, len(lines))
	}
	for _, l := range lines {
		if ansi.StringWidth(l) > w {
			t.Fatalf("%T over %dx%d: %d cells in %q", d, w, h, ansi.StringWidth(l), l)
		}
	}
}
