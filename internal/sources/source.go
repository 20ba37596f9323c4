// Package sources runs the connections that feed the fleet store: one goroutine
// and one back-off each, so that none can block another.
//
// It imports fleet only. Adapters (sources/slurm, ...) never import each other.
package sources

import (
	"context"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Sink takes what a source says. Telemetry may be dropped: the latest wins.
// Update never blocks for long and may be called from the source's goroutine only.
type Sink interface {
	Update(u fleet.Update)
}

// Source is one connection.
//
// Run blocks until ctx ends (it then returns ctx's error) or until the source
// needs a new connection (it returns what went wrong, in plain words that end on
// what to do next where that is known). It emits a full set first. A failed or
// partial answer emits nothing: stale beats partial. Unknown input harms its own
// record only and is counted in Update.NotUnder.
type Source interface {
	Name() string
	Info() Info
	Run(ctx context.Context, sink Sink) error
}

// Info describes a source before it ever answered.
type Info struct {
	Kind    string // "slurm", "kubernetes", "agent"
	Cluster string
	Via     string
	Server  string // what is asked, for error texts: "slurmctld"
}

// Refresher is a Source that can be asked for fresh data now (ctrl-r, or after
// an action). A burst of requests is answered by one poll.
type Refresher interface {
	Refresh()
}
