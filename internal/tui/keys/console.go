package keys

import "strconv"

// What the console's keys do.
const (
	Down       ID = "down"
	Up         ID = "up"
	PageDown   ID = "page-down"
	PageUp     ID = "page-up"
	Top        ID = "top"
	Bottom     ID = "bottom"
	ColsLeft   ID = "columns-left"
	ColsRight  ID = "columns-right"
	Page1      ID = "page-1" // to Page6
	Page2      ID = "page-2"
	Page3      ID = "page-3"
	Page4      ID = "page-4"
	Page5      ID = "page-5"
	Page6      ID = "page-6"
	NextPane   ID = "next-pane"
	PrevPane   ID = "previous-pane"
	Detail     ID = "detail"
	Back       ID = "back"
	Quit       ID = "quit"
	Interrupt  ID = "interrupt"
	Filter     ID = "filter"
	Palette    ID = "palette"
	Help       ID = "help"
	MarkRow    ID = "mark"
	MarkAll    ID = "mark-all"
	SortBy     ID = "sort"
	SortTurn   ID = "sort-reverse"
	Columns    ID = "columns"
	Map        ID = "map"
	TimeZone   ID = "time-zone"
	Copy       ID = "copy"
	CopyRow    ID = "copy-row"
	Redraw     ID = "redraw"
	Refresh    ID = "refresh"
	Drain      ID = "drain"
	Undrain    ID = "undrain"
	Requeue    ID = "requeue"
	Preempt    ID = "preempt"
	Hold       ID = "hold"
	Release    ID = "release"
	Cancel     ID = "cancel"
	Change     ID = "change"
	Resubmit   ID = "resubmit"
	MIG        ID = "mig"
	Recover    ID = "recover"
	Undo       ID = "undo"
	Audit      ID = "audit"
	Log        ID = "log"
	BoardRetry ID = "board-retry"
	BoardUndo  ID = "board-undo"
	BoardLeave ID = "board-leave"
)

// Board is the scope of the docked boards of running actions.
const Board Scope = "board"

// PageNames are the pages behind the keys 1 to 6.
var PageNames = [...]string{"Triage", "Nodes", "Jobs", "GPUs", "Queue", "Timeline"}

// Console is the table of the console. off says why an ID cannot be used now, or
// nothing; nil means that everything can, which is what documentation shows.
func Console[C any](off func(C, ID) string) []Binding[C] {
	var rows []Binding[C]
	for _, part := range [][]Binding[C]{acts[C](), list[C](), pages[C](), moving[C](), screen[C]()} {
		rows = append(rows, part...)
	}
	if off == nil {
		return rows
	}
	for i := range rows {
		id := rows[i].ID
		rows[i].Disabled = func(c C) string { return off(c, id) }
	}
	return rows
}

func moving[C any]() []Binding[C] {
	const s = "Moving"
	return []Binding[C]{
		{ID: Down, Keys: []string{"j", "down"}, Section: s, Help: "down", Long: "Next row"},
		{ID: Up, Keys: []string{"k", "up"}, Section: s, Help: "up", Long: "Previous row"},
		{ID: PageDown, Keys: []string{"pgdown", "ctrl+f", "ctrl+d"}, Section: s, Help: "page down", Long: "A screen further"},
		{ID: PageUp, Keys: []string{"pgup", "ctrl+b", "ctrl+u"}, Section: s, Help: "page up", Long: "A screen back"},
		{ID: Top, Keys: []string{"g", "home"}, Section: s, Help: "top", Long: "First row"},
		{ID: Bottom, Keys: []string{"G", "end"}, Section: s, Help: "bottom", Long: "Last row"},
		{ID: ColsLeft, Keys: []string{"left", "<"}, Section: s, Help: "left", Long: "Columns before these"},
		{ID: ColsRight, Keys: []string{"right", ">"}, Section: s, Help: "right", Long: "Columns after these, where not all fit"},
	}
}

func pages[C any]() []Binding[C] {
	const s = "Pages"
	var rows []Binding[C]
	for i, name := range PageNames {
		rows = append(rows, Binding[C]{
			ID: ID("page-" + strconv.Itoa(i+1)), Keys: []string{strconv.Itoa(i + 1)}, Section: s, Help: name, Long: name + " page",
		})
	}
	return append(rows, []Binding[C]{
		{ID: Map, Keys: []string{"m"}, Section: s, Help: "map", Long: "Map of the whole fleet, a cell a GPU", Rank: 11},
		{ID: NextPane, Keys: []string{"tab"}, Section: s, Help: "pane", Long: "Next pane: list, detail, boards"},
		{ID: PrevPane, Keys: []string{"shift+tab"}, Section: s, Help: "pane", Long: "Previous pane"},
		{ID: Detail, Keys: []string{"enter"}, Section: s, Help: "detail", Long: "Detail on the full screen, no frames, for copying", Rank: 6},
		{ID: Back, Keys: []string{"esc"}, Section: s, Help: "back", Long: "Back: close, take marks away, drop the filter"},
		{ID: Audit, Keys: []string{"A"}, Section: s, Help: "audit", Long: "Audit log: who did what, and what came of it"},
		{ID: Log, Keys: []string{"w"}, Section: s, Help: "output", Long: "End of the job's output"},
	}...)
}

func list[C any]() []Binding[C] {
	const s = "Lists"
	return []Binding[C]{
		{ID: MarkRow, Keys: []string{"space"}, Section: s, Help: "mark", Long: "Mark the row; actions then are about all marked rows", Rank: 8},
		{ID: MarkAll, Keys: []string{"*"}, Section: s, Help: "mark all", Long: "Mark every row shown"},
		{ID: Filter, Keys: []string{"/"}, Section: s, Help: "filter", Long: "Filter the list, for example state:drain or temp>85", Rank: 3},
		{ID: SortBy, Keys: []string{"s"}, Section: s, Help: "sort", Long: "Sort by a column", Rank: 12},
		{ID: SortTurn, Keys: []string{"S"}, Section: s, Help: "reverse", Long: "Turn the sorting round"},
		{ID: Columns, Keys: []string{"o"}, Section: s, Help: "columns", Long: "Choose the columns"},
		{ID: Copy, Keys: []string{"y"}, Section: s, Help: "copy", Long: "Copy the name, or the names of all marked rows"},
		{ID: CopyRow, Keys: []string{"Y"}, Section: s, Help: "copy row", Long: "Copy the row, or the marked names as one host list"},
	}
}

func acts[C any]() []Binding[C] {
	const s = "Actions"
	return []Binding[C]{
		{ID: Drain, Keys: []string{"d"}, Section: s, Help: "drain", Long: "Drain the node: no new work, running work ends by itself", Dangerous: true, Rank: 4},
		{ID: Undrain, Keys: []string{"u"}, Section: s, Help: "undrain", Long: "Give a drained node back", Dangerous: true, Rank: 9},
		{ID: Recover, Keys: []string{"R"}, Section: s, Help: "recover", Long: "Playbook: drain the broken, resume from a checkpoint", Dangerous: true, Rank: 5},
		{ID: Requeue, Keys: []string{"r"}, Section: s, Help: "requeue", Long: "Stop the job and put it back in the queue", Dangerous: true, Rank: 7},
		{ID: Resubmit, Keys: []string{"c"}, Section: s, Help: "resubmit", Long: "Submit the job again from a checkpoint", Dangerous: true, Rank: 9},
		{ID: Preempt, Keys: []string{"p"}, Section: s, Help: "preempt", Long: "Let the job save and make room for another", Dangerous: true, Rank: 13},
		{ID: Hold, Keys: []string{"h"}, Section: s, Help: "hold", Long: "Keep a waiting job from starting", Dangerous: true, Rank: 13},
		{ID: Release, Keys: []string{"H"}, Section: s, Help: "release", Long: "Let a held job start", Dangerous: true, Rank: 13},
		{ID: Cancel, Keys: []string{"x"}, Section: s, Help: "cancel", Long: "End the job for good", Dangerous: true, Rank: 13},
		{ID: Change, Keys: []string{"e"}, Section: s, Help: "change", Long: "Change the job: priority, time limit, partition, nodes to leave out", Dangerous: true, Rank: 13},
		{ID: MIG, Keys: []string{"M"}, Section: s, Help: "mig", Long: "Change how the GPUs of the node are partitioned", Dangerous: true, Rank: 10},
		{ID: Undo, Keys: []string{"U"}, Section: s, Help: "undo", Long: "Take back the last action", Dangerous: true},
		{ID: BoardRetry, Keys: []string{"r"}, Section: "Boards", Scopes: []Scope{Board}, Help: "retry", Long: "Plan the failed action again", Dangerous: true, Rank: 1},
		{ID: BoardUndo, Keys: []string{"u"}, Section: "Boards", Scopes: []Scope{Board}, Help: "undo", Long: "Take back what this action did", Dangerous: true, Rank: 2},
		{ID: BoardLeave, Keys: []string{"x"}, Section: "Boards", Scopes: []Scope{Board}, Help: "leave", Long: "Leave it as it is and close the board", Rank: 3},
	}
}

func screen[C any]() []Binding[C] {
	const s = "Console"
	return []Binding[C]{
		{ID: Palette, Keys: []string{":"}, Section: s, Help: "command", Long: "Command palette: every verb of the command line", Rank: 2},
		{ID: Help, Keys: []string{"?"}, Section: s, Help: "help", Long: "This help", Rank: 1},
		{ID: TimeZone, Keys: []string{"t"}, Section: s, Help: "time zone", Long: "Times in UTC, here, or at the cluster"},
		{ID: Refresh, Keys: []string{"ctrl+r"}, Section: s, Help: "refresh", Long: "Ask every source again now"},
		{ID: Redraw, Keys: []string{"ctrl+l"}, Section: s, Help: "redraw", Long: "Draw the whole screen again"},
		{ID: Interrupt, Keys: []string{"ctrl+c"}, Section: s, Help: "quit", Long: "Quit; asks while an action runs"},
		{ID: Quit, Keys: []string{"q"}, Section: s, Help: "quit", Long: "Quit; asks while an action runs", Rank: 14},
	}
}
