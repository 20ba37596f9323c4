package actions

import (
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// EngineOptions are what an Engine needs from outside.
type EngineOptions struct {
	// Backends are who plans and acts, by cluster name.
	Backends map[string]Backend
	// Snapshot returns the newest snapshot; nil while there is none.
	Snapshot func() *fleet.Snapshot
	Policy   Policy
	// Journal lets the next gpuctl tell what a killed one was doing; nil: none,
	// and every plan warns of it.
	Journal *Journal
	// Auditor records who did what. Without one nothing may be done.
	Auditor Auditor
	// Refresh asks the cluster's source for a fresh look, so that the screen shows
	// what was done; may be nil. It must not block.
	Refresh func(cluster string)
	// Now is the clock of plans and records; nil: time.Now.
	Now func() time.Time
}

// Policy is what the config allows. The zero Policy asks for confirmation and
// has no cap.
type Policy struct {
	// ReadOnly says why nothing may be done anywhere; empty: read-write.
	ReadOnly string
	// Clusters are the rules of each cluster, by name.
	Clusters map[string]ClusterPolicy
	Limits   Limits
	// TicketRequired refuses plans without Options.Ticket.
	TicketRequired bool
}

// ClusterPolicy is what the config allows on one cluster.
type ClusterPolicy struct {
	// Guard is the weakest guard of the cluster; empty: GuardConfirm.
	Guard Guard
	// ReadOnly says why nothing may be done on this cluster; empty: read-write.
	ReadOnly string
	// Production raises the guard.
	Production bool
}

// Limits cap how many distinct nodes of a cluster are taken out of service within
// a window of time. Zero fields do not limit.
type Limits struct {
	NodesPerWindow int
	Window         time.Duration
	// Percent is of the cluster's nodes; it never forbids the first node.
	Percent float64
}

// allowed returns the most nodes that may be touched in a window on a cluster of
// that many nodes; -1: any number.
func (l Limits) allowed(nodes int) int {
	most := -1
	if l.NodesPerWindow > 0 {
		most = l.NodesPerWindow
	}
	if l.Percent > 0 {
		share := max(1, int(l.Percent*float64(nodes)/100))
		if most < 0 || share < most {
			most = share
		}
	}
	return most
}
