package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/dialog"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// partition is the dialog in which a MIG layout is chosen, and what it is about.
type partition struct {
	dialog *dialog.MIG
	target actions.Target
	uuid   string
}

// request asks for a layout.
func (p *partition) request(layout string) actions.Request {
	return actions.Request{
		Verb: actions.MIGApply, Targets: []actions.Target{p.target},
		Options: actions.Options{GPUs: []actions.GPUWish{{UUID: p.uuid, Layout: layout}}},
	}
}

// layoutMsg says that a layout may be what is wanted: no key has changed it for a while.
type layoutMsg struct {
	of     *partition
	layout string
}

// layoutPlanMsg brings the plan of a layout that is still being chosen.
type layoutPlanMsg struct {
	of     *partition
	layout string
	plan   *actions.Plan
	err    error
}

// rethink is how long a layout must rest before it is planned: a plan asks the node.
const rethink = 300 * time.Millisecond

// migNode is the node whose devices a layout would be for, and the one device that is
// selected; nil device: the node is.
func (m *Model) migNode() (*fleet.Node, *fleet.GPU) {
	it, ok := m.page().Selected()
	if !ok || m.snap == nil {
		return nil, nil
	}
	switch it.Subject.Kind {
	case fleet.KindGPU: // of the GPUs page, or of a finding
		if n := m.snap.Node(it.Node); n != nil {
			return n, n.GPU(it.Subject.Name)
		}
	case fleet.KindNode:
		return m.snap.Node(it.Subject.Name), nil
	}
	return nil, nil
}

// agentOff says why nothing can be done to the GPUs of a node; empty when it can.
func (m *Model) agentOff(n *fleet.Node) string {
	switch {
	case m.opt.ReadOnly != "":
		return "read-only: " + m.opt.ReadOnly
	case m.opt.Engine == nil:
		return "nothing here can act"
	case n == nil:
		return "no GPU or node selected"
	case n.Agent == nil || n.Agent.Via == fleet.ViaSMI:
		return "no agent watches " + n.Name
	case n.Agent.Gone != "":
		return "its agent is not reached: " + n.Agent.Gone
	case len(n.Views) == 0:
		return "no scheduler knows " + n.Name
	}
	return ""
}

// migOff says why no layout can be chosen for what is selected.
func (m *Model) migOff() string {
	n, g := m.migNode()
	if why := m.agentOff(n); why != "" {
		return why
	}
	if g != nil {
		return undividable(n, g)
	}
	for i := range n.GPUs {
		if undividable(n, &n.GPUs[i]) == "" {
			return ""
		}
	}
	return "none of its GPUs can be partitioned"
}

// resetOff says why the device selected cannot be reset.
func (m *Model) resetOff() string {
	n, g := m.migNode()
	if why := m.agentOff(n); why != "" {
		return why
	}
	return unless(g != nil && g.UUID != "", "no GPU selected")
}

// resetGPU plans a reset of the device selected.
func (m *Model) resetGPU() tea.Cmd {
	n, g := m.migNode()
	return m.plan(actions.Request{
		Verb: actions.GPUReset, Targets: []actions.Target{{Kind: fleet.KindNode, Cluster: n.Views[0].Cluster, Name: n.Name}},
		Options: actions.Options{GPUs: []actions.GPUWish{{UUID: g.UUID}}},
	})
}

// undividable says why a device cannot be partitioned; empty when it can.
func undividable(n *fleet.Node, g *fleet.GPU) string {
	switch {
	case g.Silent():
		return "it does not answer: " + words.GPUState(g)
	case g.MIG.Current == fleet.MIGUnsupported:
		return "it has no MIG"
	case n.Agent.BoardOf(g) == nil:
		return "its agent has not told what it can be cut into"
	}
	return ""
}

// editMIG opens the dialog for the device selected; of a node it asks which.
func (m *Model) editMIG(int) tea.Cmd {
	n, g := m.migNode()
	if g != nil {
		return m.chooseLayout(n, g)
	}
	items := make([]dialog.Item, len(n.GPUs))
	for i := range n.GPUs {
		g := &n.GPUs[i]
		items[i] = dialog.Item{
			Key: fmt.Sprint(g.Index), Label: fmt.Sprintf("GPU %d", g.Index), Off: undividable(n, g),
			Help: "MIG " + words.MIG(g.MIG) + ", " + words.GPUOwner(n, g),
		}
	}
	return m.open(dialog.NewMenu(m.th, "Partition which GPU of "+n.Name, items, func(i int) tea.Cmd { return m.chooseLayout(n, &n.GPUs[i]) }))
}

// chooseLayout opens the dialog for one device.
func (m *Model) chooseLayout(n *fleet.Node, g *fleet.GPU) tea.Cmd {
	p := &partition{target: actions.Target{Kind: fleet.KindNode, Cluster: n.Views[0].Cluster, Name: n.Name}, uuid: g.UUID}
	p.dialog = dialog.NewMIG(m.th, "MIG of "+words.GPUName(g), *n.Agent.BoardOf(g), g, func(layout string) tea.Cmd { return m.plan(p.request(layout)) })
	m.partition = p
	return m.open(p.dialog)
}

// choosing is the layout dialog when it is on top; else nil.
func (m *Model) choosing() *partition {
	if p := m.partition; p != nil && m.dialogs.Top() == dialog.Dialog(p.dialog) {
		return p
	}
	return nil
}

// askLayout has the layout planned once it rests.
func (m *Model) askLayout() tea.Cmd {
	p := m.choosing()
	if p == nil {
		return nil
	}
	layout, ok := p.dialog.Ask()
	if !ok {
		return nil
	}
	return tea.Tick(rethink, func(time.Time) tea.Msg { return layoutMsg{p, layout} })
}

func (m *Model) planLayout(msg layoutMsg) tea.Cmd {
	if m.choosing() != msg.of || msg.of.dialog.Layout() != msg.layout {
		return nil
	}
	return func() tea.Msg {
		plan, err := m.opt.Engine.Plan(m.ctx, msg.of.request(msg.layout))
		return layoutPlanMsg{msg.of, msg.layout, plan, err}
	}
}

func (m *Model) layoutPlanned(msg layoutPlanMsg) tea.Cmd {
	msg.of.dialog.SetPlan(msg.layout, msg.plan, msg.err)
	return nil
}
