package dialog

import (
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Title names a plan in a few words: "drain gpu-node017", "requeue 12 jobs".
func Title(p *actions.Plan) string {
	switch n := len(p.Targets); {
	case n == 1:
		return fmt.Sprintf("%s %s", p.Verb, p.Targets[0].Target.Name)
	case n > 1 && p.Targets[0].Target.Kind == fleet.KindNode:
		return fmt.Sprintf("%s %s", p.Verb, words.Plural(n, "node"))
	case n > 1:
		return fmt.Sprintf("%s %s", p.Verb, words.Plural(n, "job"))
	}
	return string(p.Verb)
}

// planText collects the lines of a plan.
type planText struct {
	th    *theme.Theme
	width int
	lines []string
}

// planLines is a plan in words, what matters most first: what stands in the way,
// what it stops, what to mind, who will undo it; then every target and command.
func planLines(th *theme.Theme, p *actions.Plan, width int) []string {
	t := &planText{th: th, width: width}
	for _, b := range p.Blockers {
		t.add(theme.Crit, b.Text)
	}
	t.impact(p.Impact)
	for _, w := range p.Warnings {
		t.add(theme.Warn, w)
	}
	for _, who := range p.UndoneBy {
		t.add(theme.Warn, "likely to be undone by "+who)
	}
	t.back(p.Inverse)
	for _, a := range p.Clusters {
		t.add(theme.Dim, actingText(a))
	}
	if reason := p.Request.Options.Reason; reason != "" {
		t.add(theme.Dim, fmt.Sprintf("reason: %q", reason))
	}
	t.targets(p.Targets)
	t.commands(p.Steps)
	return t.lines
}

// add wraps a sentence behind the symbol of what it means.
func (t *planText) add(n theme.Name, text string) {
	mark := t.th.Glyphs.Of(n) + " "
	for _, l := range line.Wrap(line.Clean(text), max(1, t.width-2)) {
		t.lines = append(t.lines, t.th.Paint(n, mark+l))
		mark = "  "
	}
}

func (t *planText) head(text string) {
	t.lines = append(t.lines, "", t.th.Paint(theme.Title, text))
}

func (t *planText) impact(i actions.Impact) {
	if len(i.Jobs) == 0 {
		t.add(theme.Info, "stops no job")
		return
	}
	text := fmt.Sprintf("stops %s of %s", words.Plural(len(i.Jobs), "job"), strings.Join(i.Users, ", "))
	if i.GPUs > 0 {
		text += " on " + words.Plural(i.GPUs, "GPU")
	}
	if i.GPUHours > 0 {
		text += fmt.Sprintf("; at stake: %.0f GPU-hours", i.GPUHours)
	}
	if i.Note != "" {
		text += " (" + i.Note + ")"
	}
	t.add(theme.Warn, text)
	t.add(theme.Text, "jobs: "+strings.Join(i.Jobs, " "))
}

func (t *planText) back(inverse *actions.Request) {
	if inverse == nil {
		t.add(theme.Warn, "cannot be taken back")
		return
	}
	t.add(theme.Info, fmt.Sprintf("can be taken back: %s", inverse.Verb))
}

func actingText(a actions.Acting) string {
	text := fmt.Sprintf("acting as %s on %s", words.Or(a.User), a.Cluster)
	if a.Role != "" {
		text += fmt.Sprintf(" (%s)", a.Role)
	}
	if a.Via != "" {
		text += " via " + a.Via
	}
	return text
}

func (t *planText) targets(targets []actions.TargetPlan) {
	if len(targets) == 0 {
		return
	}
	count := map[actions.Fate]int{}
	name := 0
	for _, tp := range targets {
		count[tp.Fate]++
		name = max(name, line.Width(line.Clean(tp.Target.Name)))
	}
	head := fmt.Sprintf("Targets: %d to change", count[actions.FateAct])
	if n := count[actions.FateSkip]; n > 0 {
		head += fmt.Sprintf(", %d need nothing", n)
	}
	if n := count[actions.FateRefuse]; n > 0 {
		head += fmt.Sprintf(", %d refused", n)
	}
	t.head(head)
	for _, tp := range targets {
		t.target(tp, min(name, t.width/2))
	}
}

func (t *planText) target(tp actions.TargetPlan, name int) {
	n, mark := theme.Text, t.th.Glyphs.Arrow
	switch tp.Fate {
	case actions.FateAct:
	case actions.FateSkip:
		n, mark = theme.Dim, t.th.Glyphs.Skipped
	case actions.FateRefuse:
		n, mark = theme.Crit, t.th.Glyphs.Failed
	}
	text := mark + " " + line.Fit(line.Clean(tp.Target.Name), name, t.th.Glyphs.Ellipsis) + "  " + line.Clean(tp.Before)
	if tp.Why != "" {
		text += "  " + line.Clean(tp.Why)
	}
	t.lines = append(t.lines, t.th.Paint(n, line.Cut(text, t.width, t.th.Glyphs.Ellipsis)))
}

func (t *planText) commands(steps []actions.Step) {
	if len(steps) == 0 {
		return
	}
	t.head("Steps")
	for _, s := range steps {
		text := s.Command
		if text == "" {
			text = s.Name
		}
		for i, l := range line.Wrap(line.Clean(fmt.Sprintf("%2d %s", s.N, text)), t.width) {
			if i > 0 {
				l = line.Cut("   "+l, t.width, t.th.Glyphs.Ellipsis)
			}
			t.lines = append(t.lines, t.th.Paint(theme.Text, l))
		}
		if s.Expect != "" {
			t.lines = append(t.lines, t.th.Paint(theme.Dim, line.Cut("   until "+line.Clean(s.Expect), t.width, t.th.Glyphs.Ellipsis)))
		}
	}
}
