// Package mig plans and carries out changes of MIG layouts, and resets of GPUs, on the
// nodes of one cluster: the scheduler takes the node out of service, the node's agent
// changes the GPU and reads it back, the scheduler registers what the node has now.
//
// Its Backend stands before the scheduler's own: mig-apply and gpu-reset are its
// verbs, everything else passes through.
//
// It imports actions, fleet, agent/wire and agent/mig (the layout grammar).
package mig

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Agent reaches the agents of nodes.
type Agent interface {
	// Request sends a request to the agent of a node and waits for its reply. An error
	// means that there is none: the agent cannot be reached, or the connection broke.
	// The same request, sent again with the same ID, gets the first one's outcome.
	Request(ctx context.Context, node string, r wire.Request) (wire.Reply, error)
}

// Scheduler is the backend of a cluster that nodes are taken out of service with.
type Scheduler interface {
	actions.Backend
	// Node reads a node as the scheduler has it now.
	Node(ctx context.Context, name string) (fleet.View, error)
	// Drained is a step that waits until a drained node is empty.
	Drained(t actions.Target) actions.Step
	// Resume is a step that returns a node to service.
	Resume(t actions.Target) actions.Step
}

// AgentSteps is what Step.Backend says of steps that a node's agent carries out.
const AgentSteps fleet.Scheduler = "agent"

// Options are what a Backend is made of.
type Options struct {
	Cluster   string
	Scheduler Scheduler
	Agent     Agent  // nil: there are none, and its verbs are refused
	Operator  string // the person at the keyboard, for the node's audit log
	Now       func() time.Time
}

// Backend acts on one cluster. It is safe for concurrent use.
type Backend struct {
	opts Options

	mu   sync.Mutex
	done map[string]bool // requests that an agent said are done, by id
}

var _ actions.Backend = (*Backend)(nil)

// New returns the backend of one cluster.
func New(o Options) *Backend {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Backend{opts: o, done: map[string]bool{}}
}

// Plan implements actions.Backend.
func (b *Backend) Plan(ctx context.Context, snap *fleet.Snapshot, req actions.Request) (*actions.Plan, error) {
	if req.Verb != actions.MIGApply && req.Verb != actions.GPUReset {
		return b.opts.Scheduler.Plan(ctx, snap, req)
	}
	if len(req.Targets) != 1 || req.Targets[0].Kind != fleet.KindNode {
		return nil, fmt.Errorf("%w: %s is for one node at a time", actions.ErrInput, req.Verb)
	}
	p := &planner{
		b: b, snap: snap, req: req, target: req.Targets[0], will: map[string]fleet.MIGState{},
		plan: &actions.Plan{Verb: req.Verb, Request: req, At: b.opts.Now(), Timeout: patience},
	}
	if err := p.make(ctx); err != nil {
		return nil, err
	}
	return p.plan, nil
}

// patience is how long a whole run may take: a node drains, and a person restarts its
// daemon.
const patience = 20 * time.Minute

// Do implements actions.Backend.
func (b *Backend) Do(ctx context.Context, s actions.Step) error {
	if op, ok := ops[s.Op]; ok {
		return op.do(b, ctx, s)
	}
	return b.opts.Scheduler.Do(ctx, s)
}

// Check implements actions.Backend.
func (b *Backend) Check(ctx context.Context, s actions.Step) (actions.Reading, error) {
	if op, ok := ops[s.Op]; ok {
		return op.check(b, ctx, s)
	}
	return b.opts.Scheduler.Check(ctx, s)
}
