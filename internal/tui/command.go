package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/input"
	"github.com/gpuctl/gpuctl/internal/tui/keys"
	"github.com/gpuctl/gpuctl/internal/tui/page"
	"github.com/gpuctl/gpuctl/internal/tui/palette"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// command is a verb of the palette with what it does.
type command struct {
	palette.Command
	run func(words []string) tea.Cmd
}

// startPrompt opens the palette.
func (m *Model) startPrompt(int) tea.Cmd {
	var offered []palette.Command
	for _, c := range m.commands() {
		offered = append(offered, c.Command)
	}
	m.palette.Open(offered, "")
	m.prompt = true
	return nil
}

func (m *Model) pressPrompt(k tea.KeyPressMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		m.prompt = false
		return nil
	}
	switch m.palette.Press(k) {
	case input.Cancelled:
		m.prompt = false
	case input.Submitted:
		m.prompt = false
		return m.runCommand()
	}
	return nil
}

// runCommand does what is on the line of the palette.
func (m *Model) runCommand() tea.Cmd {
	chosen, words, err := m.palette.Words()
	switch {
	case err != nil:
		m.say(theme.Warn, err.Error())
		return nil
	case chosen.Name == "":
		return nil
	case chosen.Off != "":
		m.say(theme.Warn, chosen.Name+" is off: "+chosen.Off)
		return nil
	}
	for _, c := range m.commands() {
		if c.Name == chosen.Name {
			m.notice = notice{}
			return c.run(words)
		}
	}
	return nil
}

// commands lists what the palette offers: the verbs of the command line, the pages,
// and the settings of the console.
func (m *Model) commands() []command {
	var all []command
	for _, v := range []struct {
		verb       actions.Verb
		args, help string
	}{
		{actions.Drain, "NODE... --reason TEXT", "no new work on the node"},
		{actions.Undrain, "NODE...", "give a drained node back"},
		{actions.Requeue, "JOB... [--now] [--hold] [--exclude NODES]", "stop the job and put it back in the queue"},
		{actions.Preempt, "JOB... [--signal S] [--grace D] [--for JOB]", "let the job save and make room"},
		{actions.Hold, "JOB...", "keep a waiting job from starting"},
		{actions.Release, "JOB... [--exclude NODES]", "let a held job start"},
		{actions.Cancel, "JOB... [--signal S]", "end the job for good"},
		{actions.Suspend, "JOB...", "stop the job where it is; it keeps its GPUs"},
		{actions.Unsuspend, "JOB...", "let a suspended job go on"},
		{actions.Update, "JOB... [--priority N] [--time-limit T] [--partition P] [--exclude NODES]", "change the job"},
	} {
		all = append(all, command{
			palette.Command{Name: string(v.verb), Args: v.args, Help: v.help, Off: m.commandOff(), Complete: m.completeTargets(v.verb)},
			func(words []string) tea.Cmd { return m.verbCommand(v.verb, words) },
		})
	}
	for i, p := range m.pages {
		all = append(all, command{
			palette.Command{Name: strings.ToLower(p.Name()), Help: "go to the page", Off: m.off(pageIDs[i])},
			func([]string) tea.Cmd { return m.show(i) },
		})
	}
	return append(all, m.settings()...)
}

// commandOff says why no verb can be used at all; what names a verb is given is
// not known yet.
func (m *Model) commandOff() string {
	switch {
	case m.opt.ReadOnly != "":
		return "read-only: " + m.opt.ReadOnly
	case m.opt.Engine == nil, m.snap == nil:
		return "nothing is known yet"
	}
	return ""
}

func (m *Model) settings() []command {
	key := func(name, help string, id keys.ID) command {
		return command{palette.Command{Name: name, Help: help, Off: m.off(id)}, func([]string) tea.Cmd { return m.perform(id) }}
	}
	return []command{
		{palette.Command{Name: "describe", Args: "NAME", Help: "detail of a node, job or GPU", Complete: m.completeNames}, m.describeCommand},
		key("mig", "change how the GPU selected is partitioned", keys.MIG),
		{palette.Command{Name: "gpu-reset", Help: "reset the GPU selected, once its node is empty", Off: m.resetOff()}, func([]string) tea.Cmd { return m.resetGPU() }},
		{palette.Command{Name: "filter", Args: "TEXT", Help: "filter the list"}, m.filterCommand},
		{palette.Command{Name: "sources", Help: "every connection in full"}, func([]string) tea.Cmd { return m.sources() }},
		{palette.Command{Name: "set", Args: "theme NAME | zone NAME | mouse on|off | pane on|off", Help: "settings", Complete: m.completeSet}, m.setCommand},
		key("columns", "choose the columns", keys.Columns), key("sort", "sort by a column", keys.SortBy),
		key("refresh", "ask every source again", keys.Refresh), key("undo", "take back the last action", keys.Undo),
		key("audit", "who did what", keys.Audit), key("log", "end of the job's output", keys.Log),
		key("help", "every key", keys.Help), key("quit", "leave gpuctl", keys.Quit),
	}
}

// verbCommand acts on the names given, or on what is selected when none is.
func (m *Model) verbCommand(verb actions.Verb, words []string) tea.Cmd {
	req, given, err := m.parse(verb, words)
	if err != nil {
		return m.complain(string(verb), err)
	}
	if len(req.Targets) == 0 {
		req.Targets = slices.Clone(m.targets())
	}
	if why := refusal(m.snap, m.moment.Now, verb, req.Targets); why != "" {
		m.say(theme.Warn, string(verb)+" is off: "+why)
		return nil
	}
	if given {
		return m.plan(req)
	}
	return m.request(req)
}

func (m *Model) completeTargets(verb actions.Verb) func([]string, string) []string {
	return func(_ []string, prefix string) []string {
		if kindOf(verb) == fleet.KindNode {
			return m.nodeNames(prefix)
		}
		return m.jobIDs(prefix)
	}
}

func (m *Model) completeNames(_ []string, prefix string) []string {
	return append(m.nodeNames(prefix), m.jobIDs(prefix)...)
}

func (m *Model) nodeNames(prefix string) []string {
	var names []string
	if m.snap == nil {
		return nil
	}
	for _, n := range m.snap.Nodes {
		if strings.HasPrefix(n.Name, prefix) && len(names) < mostOffered {
			names = append(names, n.Name)
		}
	}
	return names
}

func (m *Model) jobIDs(prefix string) []string {
	var ids []string
	if m.snap == nil {
		return nil
	}
	for _, j := range m.snap.Jobs {
		if !j.Done() && strings.HasPrefix(j.ID, prefix) && len(ids) < mostOffered {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// describeCommand puts the cursor on a node or job and opens its detail.
func (m *Model) describeCommand(words []string) tea.Cmd {
	if len(words) != 1 || m.snap == nil {
		m.say(theme.Warn, "describe takes one name of a node, job or GPU")
		return nil
	}
	if n := m.snap.Node(words[0]); n != nil {
		return m.visit(1, page.Item{Subject: fleet.Subject{Kind: fleet.KindNode, Name: n.Name}})
	}
	if jobs := m.snap.FindJobs("", words[0]); len(jobs) > 0 {
		return m.visit(2, page.Item{Job: jobs[0].Key})
	}
	if g, n := m.snap.GPU(words[0]); g != nil && m.off(keys.Page4) == "" {
		return m.visit(gpuPage, page.Item{Subject: fleet.Subject{Kind: fleet.KindGPU, Name: g.ID()}, Node: n.Name})
	}
	m.say(theme.Warn, fmt.Sprintf("no node, job or GPU %q", words[0]))
	return nil
}

// visit goes to a page and to an item on it, dropping a filter that hides it.
func (m *Model) visit(i int, it page.Item) tea.Cmd {
	m.show(i)
	if !m.page().Select(it) {
		_ = m.useFilter("") // an empty filter is always understood
		m.page().Select(it)
	}
	return m.openDetail(1)
}

func (m *Model) filterCommand(words []string) tea.Cmd {
	m.endFilter(strings.Join(words, " "))
	return nil
}

var errSet = errors.New("set takes: theme NAME, zone NAME, mouse on|off, pane on|off")

func (m *Model) setCommand(words []string) tea.Cmd {
	if err := m.set(words); err != nil {
		m.say(theme.Warn, err.Error())
		return nil
	}
	return m.savePrefs()
}

func (m *Model) set(words []string) error {
	if len(words) != 2 {
		return errSet
	}
	name, value := words[0], words[1]
	on := value == "on"
	switch {
	case name == "theme":
		return m.useTheme(value)
	case name == "zone" && m.useZone(value):
	case name == "mouse" && (on || value == "off"):
		m.mouse = on
	case name == "pane" && (on || value == "off"):
		m.pane.off = !on
	default:
		return errSet
	}
	return nil
}

func (m *Model) completeSet(words []string, prefix string) []string {
	if len(words) == 0 {
		return []string{"theme", "zone", "mouse", "pane"}
	}
	switch words[0] {
	case "theme":
		return theme.List(m.opt.Themes)
	case "zone":
		var names []string
		for _, z := range m.zones {
			names = append(names, z.Name)
		}
		return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, prefix) })
	case "mouse", "pane":
		return []string{"on", "off"}
	}
	return nil
}
