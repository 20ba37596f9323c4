package tui

import (
	"context"
	"io/fs"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Engine plans and runs actions. The console holds no other way to change anything.
type Engine interface {
	// Plan computes what would be done, without side effects.
	Plan(ctx context.Context, req actions.Request) (*actions.Plan, error)
	// Run carries a confirmed plan out. Every event arrives; the channel is closed
	// after the last one.
	Run(ctx context.Context, p *actions.Plan, c actions.Confirmation) (<-chan actions.Event, error)
}

// Section is a titled block of text of the detail pane.
type Section struct {
	Title string
	Text  string
}

// Prefs are what an operator sets by hand and finds again next time.
type Prefs struct {
	Theme   string
	Zone    string              // "utc", "local" or a cluster's name
	Columns map[string][]string // hidden columns by page
	Sort    map[string]string   // by page: column key, "-" before it when reversed
	Mouse   bool
}

// Options are what the console is given. Snapshots and Engine are needed; every
// other field may be zero.
type Options struct {
	// Snapshots delivers at most five a second; only the latest counts.
	Snapshots <-chan *fleet.Snapshot
	Engine    Engine
	// Refresh asks every source for fresh data now. It must not block.
	Refresh func()
	// JobDetail and NodeDetail fetch what the poll does not carry, such as a job's
	// script or the scheduler's own text.
	JobDetail  func(ctx context.Context, k fleet.JobKey) ([]Section, error)
	NodeDetail func(ctx context.Context, cluster, node string) ([]Section, error)
	// JobLog fetches the end of a job's output.
	JobLog func(ctx context.Context, k fleet.JobKey) ([]Section, error)
	// Audit fetches the newest records of the audit log, newest first.
	Audit func(ctx context.Context) ([]Section, error)
	// Guards is the configured guard level by cluster, for the header.
	Guards map[string]actions.Guard
	// Production marks clusters, by name, that the header must set apart.
	Production map[string]bool
	// ReadOnly says why nothing may be changed; empty when actions are on.
	ReadOnly string
	// OpenRuns says what an earlier console left unfinished, one sentence a run.
	OpenRuns []string
	Prefs    Prefs
	// Themes is the operator's own folder of themes; may be nil.
	Themes fs.FS
	// SavePrefs keeps changed preferences. It must not block for long: it runs
	// outside the loop, one call at a time.
	SavePrefs func(Prefs) error
	// ASCII keeps every character that gpuctl itself draws within ASCII.
	ASCII bool
	// NoColor is NO_COLOR or --no-color: states are told by word and symbol alone.
	NoColor bool
	// Clock is the time the screen shows; nil: the system's. A replay sets it.
	Clock func() time.Time
}
