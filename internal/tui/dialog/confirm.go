package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/tui/input"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// Confirm shows a plan as it was frozen and asks whether to run it, as hard as its
// guard demands. A plan with blockers cannot be confirmed, except that a cap is
// lifted by typing the cluster's name.
type Confirm struct {
	box
	plan  *actions.Plan
	run   func(actions.Confirmation) tea.Cmd
	asks  []ask // words still to be typed, in order
	field *input.Field
	wrong string // what was typed last and was not it
	given actions.Confirmation
}

// ask is one word to be typed.
type ask struct {
	accept []string
	why    string
	set    func(*actions.Confirmation, string)
}

// NewConfirm makes the dialog of a plan. run is called with what the operator gave.
func NewConfirm(th *theme.Theme, plan *actions.Plan, run func(actions.Confirmation) tea.Cmd) *Confirm {
	c := &Confirm{box: box{th: th, title: Title(plan)}, plan: plan, run: run}
	if capped(plan) {
		c.asks = append(c.asks, ask{accept: clusterNames(plan), why: " to exceed the cap", set: setOverride})
	}
	if plan.Guard == actions.GuardTyped {
		c.asks = append(c.asks, ask{accept: []string{plan.Word}, set: setWord})
	}
	c.next()
	return c
}

func setOverride(g *actions.Confirmation, word string) { g.Override = word }
func setWord(g *actions.Confirmation, word string)     { g.Word = word }

func clusterNames(p *actions.Plan) []string {
	var names []string
	for _, a := range p.Clusters {
		names = append(names, a.Cluster)
	}
	return names
}

// capped tells whether the cap is all that stands in the way.
func capped(p *actions.Plan) bool {
	return len(p.Blockers) > 0 && !slices.ContainsFunc(p.Blockers, func(b actions.Blocker) bool { return b.Code != actions.BlockCap })
}

// refused says why the plan cannot be run at all; empty when it can.
func (c *Confirm) refused() string {
	switch {
	case len(c.plan.Blockers) > 0 && !capped(c.plan):
		return "refused: see above"
	case len(c.plan.Steps) == 0:
		return "there is nothing to do"
	case c.plan.Guard == actions.GuardTyped && c.plan.Word == "":
		return "refused: the plan does not say what to type"
	}
	return ""
}

// next sets the field up for the next word to be typed.
func (c *Confirm) next() {
	c.field = nil
	if len(c.asks) == 0 {
		return
	}
	a := c.asks[0]
	c.field = input.New(c.th, "Type "+strings.Join(a.accept, " or ")+a.why+": ")
}

// Early is false: no key typed before the plan was seen may count.
func (c *Confirm) Early(tea.KeyPressMsg) bool { return false }

// Paste is refused: a pasted word was not read.
func (c *Confirm) Paste(string) bool { return false }

// Press takes a key.
func (c *Confirm) Press(k tea.KeyPressMsg) (bool, Answer) {
	typed := c.refused() == "" && c.field != nil
	switch {
	case k.String() == "esc":
		return true, nil
	case c.scroll(k, !typed):
		return false, nil
	case c.refused() != "":
		return k.String() == "enter" || k.String() == "q", nil
	case typed:
		return c.typed(k)
	}
	switch k.String() {
	case "n", "q":
		return true, nil
	case "y":
		return c.yes()
	case "enter":
		if c.plan.Guard == actions.GuardNone {
			return c.yes()
		}
	}
	return false, nil
}

func (c *Confirm) typed(k tea.KeyPressMsg) (bool, Answer) {
	if c.field.Press(k) != input.Submitted {
		c.wrong = ""
		return false, nil
	}
	word := strings.TrimSpace(c.field.Value())
	if !slices.Contains(c.asks[0].accept, word) {
		c.wrong = word
		c.field.SetValue("")
		return false, nil
	}
	c.asks[0].set(&c.given, word)
	c.asks = c.asks[1:]
	c.next()
	if c.field != nil {
		return false, nil
	}
	if c.plan.Guard == actions.GuardTyped || c.plan.Guard == actions.GuardNone {
		return c.yes()
	}
	return false, nil // the cap is lifted; the plan itself is still to be confirmed
}

func (c *Confirm) yes() (bool, Answer) {
	c.given.Yes = true
	return true, func() tea.Cmd { return c.run(c.given) }
}

// View draws the plan and the question.
func (c *Confirm) View(width, height int) string {
	return c.view(planLines(c.th, c.plan, inner(width)), c.question(inner(width)), width, height)
}

func (c *Confirm) question(width int) []string {
	keys := func(pairs ...string) string {
		var b strings.Builder
		for i := 0; i+1 < len(pairs); i += 2 {
			b.WriteString(c.th.Paint(theme.Key, pairs[i]) + " " + pairs[i+1] + "   ")
		}
		return b.String()
	}
	refused := c.refused()
	switch {
	case refused != "":
		return []string{"", c.th.Paint(theme.Crit, refused) + "   " + keys("Esc", "close")}
	case c.field != nil:
		note := c.th.Paint(theme.Dim, "Enter runs it, Esc leaves everything as it is")
		if c.wrong != "" {
			note = c.th.Paint(theme.Warn, fmt.Sprintf("%q is not it; nothing was done", c.wrong))
		}
		return []string{note, c.field.View(width)}
	case c.plan.Guard == actions.GuardNone:
		return []string{"", keys("Enter", "run it", "Esc", "leave everything as it is")}
	}
	return []string{"", keys("y", "run it", "n", "leave everything as it is")}
}
