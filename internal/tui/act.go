package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/dialog"
	"github.com/gpuctl/gpuctl/internal/tui/keys"
	"github.com/gpuctl/gpuctl/internal/tui/page"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// planMsg brings a plan that was asked for.
type planMsg struct {
	req  actions.Request
	plan *actions.Plan
	err  error
}

// startedMsg says that a confirmed plan runs, or why it does not.
type startedMsg struct {
	plan   *actions.Plan
	events <-chan actions.Event
	err    error
}

// eventMsg is one event of a run; open is false when no more will come.
type eventMsg struct {
	run   startedMsg
	event actions.Event
	open  bool
}

// targets are what an action is about now: the marked rows or the one under the
// cursor, by exact name. They are collected once an update: every verb asks.
func (m *Model) targets() []actions.Target {
	if m.chosen == nil {
		m.chosen = []actions.Target{}
		seen := map[actions.Target]bool{} // the GPUs of a node are one target
		for _, it := range m.page().Targets() {
			for _, t := range m.targetsOf(it) {
				if !seen[t] {
					seen[t] = true
					m.chosen = append(m.chosen, t)
				}
			}
		}
	}
	return m.chosen
}

// targetsOf names a thing for every scheduler that knows it.
func (m *Model) targetsOf(it page.Item) []actions.Target {
	t := actions.Target{Kind: it.Subject.Kind, Cluster: it.Subject.Cluster, Name: it.Subject.Name, Job: it.Job}
	if t.Kind == fleet.KindGPU && it.Node != "" { // schedulers drain nodes, not GPUs
		t = actions.Target{Kind: fleet.KindNode, Name: it.Node}
	}
	if t.Kind != fleet.KindNode || m.snap == nil {
		return []actions.Target{t}
	}
	n := m.snap.Node(t.Name)
	if n == nil || len(n.Views) == 0 {
		return []actions.Target{t}
	}
	all := make([]actions.Target, 0, len(n.Views))
	for i := range n.Views {
		t.Cluster = n.Views[i].Cluster
		all = append(all, t)
	}
	return all
}

// begin starts a verb on what is selected. The targets are fixed here: whatever
// moves under the cursor later is not touched.
func (m *Model) begin(verb actions.Verb) tea.Cmd {
	return m.request(actions.Request{Verb: verb, Targets: slices.Clone(m.targets())})
}

// request asks for what the verb still needs, then for the plan.
func (m *Model) request(req actions.Request) tea.Cmd {
	if f := m.formFor(req); f != nil {
		return m.open(f)
	}
	return m.plan(req)
}

// plan asks the engine what the request would do.
func (m *Model) plan(req actions.Request) tea.Cmd {
	m.say(theme.Info, fmt.Sprintf("planning %s", req.Verb))
	return func() tea.Msg {
		p, err := m.opt.Engine.Plan(m.ctx, req)
		return planMsg{req, p, err}
	}
}

// planned shows the plan and asks.
func (m *Model) planned(msg planMsg) tea.Cmd {
	m.notice = notice{}
	if msg.err != nil {
		return m.complain(fmt.Sprintf("no plan for %s", msg.req.Verb), msg.err)
	}
	return m.open(dialog.NewConfirm(m.th, msg.plan, func(c actions.Confirmation) tea.Cmd { return m.run(msg.plan, c) }))
}

// complain shows an error until it was read: a line that goes away by itself helps
// nobody.
func (m *Model) complain(title string, err error) tea.Cmd {
	return m.open(dialog.NewMessage(m.th, title, dialog.Plain(err.Error())))
}

// run starts a confirmed plan. It goes on when the console is not looking, but not
// when it ends; the journal tells the next console.
func (m *Model) run(p *actions.Plan, c actions.Confirmation) tea.Cmd {
	return func() tea.Msg {
		events, err := m.opt.Engine.Run(m.ctx, p, c)
		return startedMsg{p, events, err}
	}
}

func (m *Model) started(msg startedMsg) tea.Cmd {
	if msg.err != nil {
		return m.complain(dialog.Title(msg.plan)+" was not started", msg.err)
	}
	m.boards.Start(msg.plan, m.opt.Clock())
	m.running[msg.plan.ID] = true
	if msg.plan.Inverse != nil { // a drain may wait for hours: it can be taken back at once
		m.undo = msg.plan.Inverse
	}
	return next(msg)
}

// next waits for one event; the one after it is asked for when this one was shown.
func next(run startedMsg) tea.Cmd {
	return func() tea.Msg {
		e, open := <-run.events
		return eventMsg{run, e, open}
	}
}

// happened shows an event on its board.
func (m *Model) happened(msg eventMsg) tea.Cmd {
	now := m.opt.Clock()
	if !msg.open {
		m.ended(msg.run.plan)
		return nil
	}
	msg.event.Plan = msg.run.plan.ID
	m.boards.Feed(msg.event, now)
	if done := msg.event.Done; done != nil {
		delete(m.running, msg.run.plan.ID)
		return tea.Batch(next(msg.run), m.askAgain())
	}
	return next(msg.run)
}

// ended makes sure that no board of a closed run looks as if it went on.
func (m *Model) ended(p *actions.Plan) {
	if !m.running[p.ID] {
		return
	}
	delete(m.running, p.ID)
	result := &actions.Result{Plan: p, Result: actions.NotVerified, Message: noResult}
	m.boards.Feed(actions.Event{Plan: p.ID, Done: result}, m.opt.Clock())
}

// noResult is said of a run whose events ended too early.
const noResult = "the run ended without a result; look before doing it again"

// askAgain asks every source for fresh data.
func (m *Model) askAgain() tea.Cmd {
	if m.opt.Refresh == nil {
		return nil
	}
	return func() tea.Msg {
		m.opt.Refresh()
		return nil
	}
}

func (m *Model) undoOff() string {
	switch {
	case m.opt.ReadOnly != "":
		return "read-only: " + m.opt.ReadOnly
	case m.undo == nil:
		return "nothing was done that can be taken back"
	}
	return ""
}

// undoLast plans to take the last action back.
func (m *Model) undoLast(int) tea.Cmd { return m.plan(*m.undo) }

func (m *Model) boardOff(id keys.ID) string {
	b := m.boards.Selected()
	switch {
	case b == nil:
		return "no board selected"
	case id == keys.BoardUndo:
		return unless(b.Plan.Inverse != nil, "it cannot be taken back")
	case b.Result == nil:
		return "it still runs"
	case id == keys.BoardRetry:
		return unless(!b.Good(), "it succeeded")
	}
	return ""
}

// retryBoard plans the same request anew: the world has moved since.
func (m *Model) retryBoard(int) tea.Cmd { return m.plan(m.boards.Selected().Plan.Request) }

func (m *Model) undoBoard(int) tea.Cmd { return m.plan(*m.boards.Selected().Plan.Inverse) }

func (m *Model) leaveBoard(int) tea.Cmd {
	m.boards.Dismiss(m.boards.Selected().Plan.ID)
	if m.boards.Len() == 0 {
		m.setFocus(onList)
	}
	return nil
}

// boardLines is how many lines the boards take of a body of that height, with a rule
// above them: never so many that the list cannot be used.
func (m *Model) boardLines(body int) int {
	switch {
	case m.boards.Len() == 0:
		return 0
	case body < 6:
		return min(1, max(0, body-1))
	}
	return 1 + m.boards.Height(body/2-1)
}

// boardView draws the boards, under a rule where there is room for one.
func (m *Model) boardView(width, height int) string {
	if height < 2 {
		return m.boards.View(width, height)
	}
	text := fmt.Sprintf(" %s, %d running ", words.Plural(m.boards.Len(), "action"), m.boards.Running())
	dash := m.th.Paint(theme.Border, m.th.Glyphs.Horizontal)
	head := dash + m.th.Paint(theme.Title, text) + dash + m.th.Paint(theme.Dim, " Tab goes there ")
	if m.focus == onBoards {
		head = dash + m.th.Paint(theme.Selection, text)
	}
	return m.rule(head, width) + "\n" + m.boards.View(width, height-1)
}

// quit ends the console; while an action runs it asks.
func (m *Model) quit(int) tea.Cmd {
	n := m.boards.Running()
	if n == 0 {
		return tea.Quit
	}
	title := "1 action is still running"
	if n > 1 {
		title = fmt.Sprintf("%d actions are still running", n)
	}
	items := []dialog.Item{
		{Label: "stay", Help: "and watch to the end"},
		{Label: "quit", Help: "what was sent stays sent; nobody reads it back; the next start tells what is open"},
	}
	return m.open(dialog.NewMenu(m.th, title, items, func(i int) tea.Cmd {
		if i == 1 {
			return tea.Quit
		}
		return nil
	}))
}
