package dialog

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/migbar"
	"github.com/gpuctl/gpuctl/internal/tui/miglayout"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// MIG asks how a device shall be partitioned: it draws the board as it is and as it
// shall be, offers the profiles that still fit, and shows what the plan says of the
// layout so far.
type MIG struct {
	box
	gpu    *fleet.GPU
	was    string
	layout *miglayout.Layout
	at     int // the item that keys are about

	asked string // layout that the plan is about or was asked for
	plan  *actions.Plan
	err   error

	apply func(layout string) tea.Cmd
}

// NewMIG asks for a layout of a device; apply gets it, as gpuctl reads it.
func NewMIG(th *theme.Theme, title string, board fleet.MIGBoard, gpu *fleet.GPU, apply func(layout string) tea.Cmd) *MIG {
	l := miglayout.Of(board, gpu.MIG)
	return &MIG{box: box{th: th, title: title}, gpu: gpu, was: l.String(), layout: l, apply: apply}
}

// Layout is the layout so far.
func (m *MIG) Layout() string { return m.layout.String() }

// Ask returns the layout that no plan was asked for yet; false when there is none.
func (m *MIG) Ask() (string, bool) {
	now := m.layout.String()
	if now == m.asked || now == m.was {
		return "", false
	}
	m.asked, m.plan, m.err = now, nil, nil
	return now, true
}

// SetPlan shows what the plan of a layout says, unless the layout is another by now.
func (m *MIG) SetPlan(layout string, p *actions.Plan, err error) {
	if layout == m.layout.String() {
		m.plan, m.err = p, err
	}
}

// Early takes the keys that only look.
func (m *MIG) Early(k tea.KeyPressMsg) bool { return m.step(k.String()) != 0 }

// Paste is refused: there is no field.
func (m *MIG) Paste(string) bool { return false }

// step is how far a key moves the selection among the instances.
func (m *MIG) step(key string) int {
	return map[string]int{"left": -1, "h": -1, "right": 1, "l": 1}[key]
}

// Press takes a key.
func (m *MIG) Press(k tea.KeyPressMsg) (bool, Answer) {
	name := k.String()
	if i := m.profileOf(name); i >= 0 {
		if at, ok := m.layout.Add(m.layout.Profiles()[i]); ok {
			m.at = at
		}
		return false, nil
	}
	switch name {
	case "esc", "q":
		return true, nil
	case "enter":
		if layout := m.layout.String(); layout != m.was {
			return true, func() tea.Cmd { return m.apply(layout) }
		}
	case "x", "delete", "backspace":
		m.layout.Remove(m.at)
	case "<", ">":
		m.at = m.layout.Move(m.at, map[string]int{"<": -1, ">": 1}[name])
	case "z":
		m.layout.Clear(false)
	case "o":
		m.layout.Clear(true)
	default:
		if n := m.step(name); n != 0 {
			m.at += n
		} else {
			m.scroll(k, false)
		}
	}
	m.at = max(0, min(m.at, len(m.layout.Items)-1))
	return false, nil
}

// profileOf is the index of the profile that a key chooses; -1: none.
func (m *MIG) profileOf(key string) int {
	n, err := strconv.Atoi(key)
	if err != nil || n < 1 || n > len(m.layout.Profiles()) {
		return -1
	}
	return n - 1
}

// View draws the dialog.
func (m *MIG) View(width, height int) string {
	w := inner(width)
	body := []string{
		m.th.Paint(theme.Dim, "now    ") + m.bar(m.gpu.MIG.Current != fleet.MIGEnabled, m.now(), w-7),
		m.th.Paint(theme.Dim, "wanted ") + m.bar(m.layout.Off, m.wanted(), w-7),
		m.selected(w), "",
	}
	for i, p := range m.layout.Profiles() {
		body = append(body, m.profile(i, p, w))
	}
	body = append(body, "")
	body = append(body, m.verdict(w)...)
	hint := func(k, does string) string { return m.th.Paint(theme.Key, k) + " " + does + "  " }
	foot := []string{
		hint("1-"+strconv.Itoa(len(m.layout.Profiles())), "add") + hint("h l", "select") + hint("x", "take out") + hint("< >", "move") + hint("z", "empty") + hint("o", "MIG off"),
		hint("Enter", "show the plan and ask") + hint("Esc", "leave"),
	}
	return m.view(body, foot, width, height)
}

// bar draws parts to scale; a board whose places are not told is listed.
func (m *MIG) bar(off bool, parts []migbar.Part, width int) string {
	if off {
		return m.th.Paint(theme.Dim, line.Fit("MIG is off", width, ""))
	}
	for _, p := range parts {
		if p.Start == miglayout.Anywhere {
			return line.Cut(m.list(parts), width, m.th.Glyphs.Ellipsis)
		}
	}
	if m.layout.Memory() == 0 {
		return line.Fit("", width, "")
	}
	return migbar.Draw(m.th, m.layout.Memory(), parts, width)
}

func (m *MIG) list(parts []migbar.Part) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = m.th.Paint(p.Tone, line.Clean(p.Label))
	}
	return strings.Join(names, " ")
}

func (m *MIG) now() []migbar.Part {
	return migbar.Parts(m.gpu.MIG.Instances, func(in *fleet.MIGInstance) theme.Name {
		if m.gpu.UseOfInstance(in) == fleet.UseFree {
			return theme.Text
		}
		return theme.Busy
	})
}

func (m *MIG) wanted() []migbar.Part {
	parts := make([]migbar.Part, 0, len(m.layout.Items))
	for i, it := range m.layout.Items {
		look := theme.Text
		if i == m.at {
			look = theme.Selection
		}
		parts = append(parts, migbar.Part{Start: it.Start, Size: it.Profile.Memory, Label: it.Profile.Name, Tone: look})
	}
	return parts
}

// selected says in words what the wanted layout is, and what keys are about.
func (m *MIG) selected(width int) string {
	text := ""
	switch {
	case !m.layout.Off && len(m.layout.Items) == 0:
		text = "no instance"
	case !m.layout.Off:
		it := m.layout.Items[m.at]
		text = fmt.Sprintf("%s, selected: %s", words.Plural(len(m.layout.Items), "instance"), it.Profile.Name)
		if it.Start != miglayout.Anywhere {
			text += fmt.Sprintf(" from slice %d", it.Start)
		}
	}
	return m.th.Paint(theme.Dim, line.Fit("       "+text, width, m.th.Glyphs.Ellipsis))
}

// profile is one line of what can be added: its key, what it takes, or why it does not
// fit.
func (m *MIG) profile(i int, p fleet.MIGProfile, width int) string {
	name := 0
	for _, q := range m.layout.Profiles() {
		name = max(name, line.Width(line.Clean(q.Name)))
	}
	takes := fmt.Sprintf("%d compute", p.Compute)
	if p.Memory > 0 {
		takes += fmt.Sprintf(", %d memory", p.Memory)
	}
	if why := m.layout.Refuses(p); why != "" {
		return m.th.Paint(theme.Dim, line.Fit(fmt.Sprintf("%2d %s  %-20s off: %s", i+1, line.Fit(line.Clean(p.Name), name, ""), takes, why), width, m.th.Glyphs.Ellipsis))
	}
	return m.th.Paint(theme.Key, fmt.Sprintf("%2d", i+1)) + " " + m.th.Paint(theme.Text, line.Fit(line.Fit(line.Clean(p.Name), name, "")+"  "+takes, width-3, ""))
}

// verdict is what the plan says of the layout so far.
func (m *MIG) verdict(width int) []string {
	now := m.layout.String()
	t := &planText{th: m.th, width: width}
	switch {
	case now == m.was:
		t.add(theme.Text, "this is how it is now: "+now)
	case m.asked != now || m.plan == nil && m.err == nil:
		t.add(theme.Dim, "planning "+now)
	case m.err != nil:
		t.add(theme.Crit, m.err.Error())
	default:
		t.lines = append(t.lines, m.th.Paint(theme.Title, line.Fit("plan for "+now, width, m.th.Glyphs.Ellipsis)))
		for _, b := range m.plan.Blockers {
			t.add(theme.Crit, b.Text)
		}
		for _, w := range m.plan.Warnings {
			t.add(theme.Warn, w)
		}
		if len(m.plan.Blockers) == 0 {
			t.impact(m.plan.Impact)
			t.commands(m.plan.Steps)
		}
	}
	return t.lines
}
