package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/keys"
)

// notBuilt are bindings of the console whose work this version cannot do yet: they
// are not offered at all.
var notBuilt = [...]keys.ID{keys.Map, keys.Resubmit, keys.Recover}

// bindings is the table of keys as this console has it.
func bindings() []keys.Binding[*Model] {
	rows := keys.Console((*Model).off)
	return slices.DeleteFunc(rows, func(b keys.Binding[*Model]) bool { return slices.Contains(notBuilt[:], b.ID) })
}

// verbs are the actions behind keys.
var verbs = [...]struct {
	id   keys.ID
	verb actions.Verb
}{
	{keys.Drain, actions.Drain},
	{keys.Undrain, actions.Undrain},
	{keys.Requeue, actions.Requeue},
	{keys.Preempt, actions.Preempt},
	{keys.Hold, actions.Hold},
	{keys.Release, actions.Release},
	{keys.Cancel, actions.Cancel},
	{keys.Change, actions.Update},
}

// methods maps every binding to what it does. n is the count typed before it.
func (m *Model) methods() map[keys.ID]func(n int) tea.Cmd {
	do := map[keys.ID]func(int) tea.Cmd{
		keys.Down:     func(n int) tea.Cmd { return m.move(n) },
		keys.Up:       func(n int) tea.Cmd { return m.move(-n) },
		keys.PageDown: func(n int) tea.Cmd { return m.movePages(n) },
		keys.PageUp:   func(n int) tea.Cmd { return m.movePages(-n) },
		keys.Top:      func(int) tea.Cmd { return m.moveEnd(false) },
		keys.Bottom:   func(int) tea.Cmd { return m.moveEnd(true) },
		keys.ColsLeft: func(n int) tea.Cmd { m.page().Scroll(-n); return nil }, keys.ColsRight: func(n int) tea.Cmd { m.page().Scroll(n); return nil },
		keys.NextPane: func(int) tea.Cmd { return m.cyclePane(1) }, keys.PrevPane: func(int) tea.Cmd { return m.cyclePane(-1) },
		keys.Detail: m.openDetail, keys.Back: m.back, keys.Quit: m.quit, keys.Interrupt: m.quit,
		keys.Filter: m.startFilter, keys.Palette: m.startPrompt, keys.Help: m.help,
		keys.MarkRow: m.mark, keys.MarkAll: func(int) tea.Cmd { m.page().MarkAll(); return nil },
		keys.SortBy: m.chooseSort, keys.SortTurn: func(int) tea.Cmd { m.page().Reverse(); return m.savePrefs() },
		keys.Columns: m.chooseColumns, keys.TimeZone: m.nextZone,
		keys.Copy: m.copyNames, keys.CopyRow: m.copyRow,
		keys.Redraw: func(int) tea.Cmd { return tea.ClearScreen }, keys.Refresh: m.refresh,
		keys.MIG: m.editMIG, keys.Undo: m.undoLast, keys.Audit: m.audit, keys.Log: m.jobLog,
		keys.BoardRetry: m.retryBoard, keys.BoardUndo: m.undoBoard, keys.BoardLeave: m.leaveBoard,
	}
	for _, v := range verbs {
		do[v.id] = func(int) tea.Cmd { return m.begin(v.verb) }
	}
	for i, id := range pageIDs {
		do[id] = func(int) tea.Cmd { return m.show(i) }
	}
	return do
}

var pageIDs = [...]keys.ID{keys.Page1, keys.Page2, keys.Page3, keys.Page4, keys.Page5, keys.Page6}

// off says why a binding cannot be used now; empty when it can. It is worked out
// at most once an update: the footer asks for every key on every frame.
func (m *Model) off(id keys.ID) string {
	why, known := m.offs[id]
	if !known {
		why = m.whyOff(id)
		m.offs[id] = why
	}
	return why
}

func (m *Model) whyOff(id keys.ID) string {
	for _, v := range verbs {
		if v.id == id {
			return m.verbOff(v.verb)
		}
	}
	switch id {
	case keys.Page4:
		return m.agentsOff()
	case keys.MIG:
		return m.migOff()
	case keys.Detail:
		return unless(m.hasSelection(), "nothing selected")
	case keys.Copy, keys.CopyRow:
		return unless(len(m.targets()) > 0, "nothing selected")
	case keys.Refresh:
		return unless(m.opt.Refresh != nil, "the source cannot be asked again")
	case keys.Undo:
		return m.undoOff()
	case keys.Audit:
		return unless(m.opt.Audit != nil, "no audit log is kept")
	case keys.Log:
		return m.logOff()
	case keys.SortTurn:
		return unless(m.page().Sort() != "", "not sorted by a column")
	case keys.BoardRetry, keys.BoardUndo, keys.BoardLeave:
		return m.boardOff(id)
	}
	return ""
}

// verbOff says why a verb cannot be used on what is selected.
func (m *Model) verbOff(verb actions.Verb) string {
	switch {
	case m.opt.ReadOnly != "":
		return "read-only: " + m.opt.ReadOnly
	case m.opt.Engine == nil:
		return "nothing here can act"
	case m.snap == nil:
		return "nothing is known yet"
	}
	return refusal(m.snap, m.moment.Now, verb, m.targets())
}

func (m *Model) hasSelection() bool {
	_, ok := m.page().Selected()
	return ok
}

func (m *Model) logOff() string {
	if m.opt.JobLog == nil {
		return "job output cannot be read from here"
	}
	it, ok := m.page().Selected()
	return unless(ok && it.Subject.Kind == fleet.KindJob, "no job selected")
}
