package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/board"
	"github.com/gpuctl/gpuctl/internal/tui/dialog"
	"github.com/gpuctl/gpuctl/internal/tui/input"
	"github.com/gpuctl/gpuctl/internal/tui/keys"
	"github.com/gpuctl/gpuctl/internal/tui/page"
	"github.com/gpuctl/gpuctl/internal/tui/palette"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/trace"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// focus is the part of the screen that takes keys.
type focus uint8

const (
	onList focus = iota
	onDetail
	onBoards
)

// Model is the console. It is the only tea.Model; everything below it is a struct
// with verbs.
type Model struct {
	opt Options
	ctx context.Context //nolint:containedctx // the run's own: commands outlive an Update
	th  *theme.Theme

	width, height int
	born          time.Time     // when the console began
	moment        *words.Moment // what the screen calls now; pages read it
	zones         []words.Zone

	snap    *fleet.Snapshot
	past    trace.Log // readings of GPUs, for sparklines
	tallies []page.Tally
	demand  page.Demand
	gpus    int // devices that are listed
	watched int // of them, those of nodes with an agent

	pages   []page.Page
	at      int
	filters []string // by page
	focus   focus
	pane    pane

	keys   *keys.Table[*Model]
	do     map[keys.ID]func(n int) tea.Cmd
	offs   map[keys.ID]string // why keys are off, worked out at most once an update
	chosen []actions.Target   // what actions are about now; nil: not collected since the last update
	count  int                // a count typed before a key; 0: none
	// counting is set from the first digit of a count to the next key.
	counting  bool
	field     *input.Field // the filter, while it is being typed; else nil
	history   []string     // of filters
	palette   *palette.Palette
	prompt    bool // the palette is open
	dialogs   dialog.Stack
	partition *partition // the MIG layout that is being chosen; nil: none was
	boards    *board.Dock
	running   map[string]bool // plans whose events still come
	undo      *actions.Request
	notice    notice
	mouse     bool
}

// notice is one line for the operator; it goes with the next key that does
// something, or after a while.
type notice struct {
	text  string
	tone  theme.Name
	until time.Time
}

// noticeLife is how long a notice stays.
const noticeLife = 8 * time.Second

// New makes the console. Run runs it; tests drive it directly.
func New(ctx context.Context, opt Options) (*Model, error) {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	th, err := loadTheme(opt)
	if err != nil {
		return nil, err
	}
	m := &Model{opt: opt, ctx: ctx, th: th, mouse: opt.Prefs.Mouse, offs: map[keys.ID]string{}, running: map[string]bool{}}
	m.zones = words.Zones(nil)
	m.born = opt.Clock()
	m.moment = &words.Moment{Now: m.born, Zone: m.zones[0], Past: &m.past}
	m.pages = []page.Page{
		page.Triage(th, m.moment), page.Nodes(th, m.moment), page.Jobs(th, m.moment), page.GPUs(th, m.moment),
		page.Waiters(th, m.moment), page.Timeline(th, m.moment),
	}
	m.filters = make([]string, len(m.pages))
	m.palette, m.boards = palette.New(th), board.New(th)
	m.keys = keys.New(bindings())
	m.do = m.methods()
	m.applyPrefs()
	if len(opt.OpenRuns) > 0 {
		m.open(dialog.NewMessage(th, "An earlier gpuctl was killed", dialog.Plain(strings.Join(opt.OpenRuns, "\n\n"))))
	}
	return m, nil
}

func loadTheme(opt Options) (*theme.Theme, error) {
	name := opt.Prefs.Theme
	if opt.NoColor {
		name = "mono"
	} else if name == "" {
		name = theme.Default
	}
	th, err := theme.Load(name, opt.Themes)
	if err != nil {
		return nil, fmt.Errorf("theme: %w", err)
	}
	if opt.ASCII {
		th = th.ASCII()
	}
	return th, nil
}
