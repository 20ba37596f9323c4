package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpuctl/gpuctl/internal/actions"
	migactions "github.com/gpuctl/gpuctl/internal/actions/mig"
	"github.com/gpuctl/gpuctl/internal/agent/client"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

// agents lets plans reach the agents that the session's sources are connected to.
type agents func(node string) *client.Client

// Request implements the mig actions' Agent.
func (a agents) Request(ctx context.Context, node string, r wire.Request) (wire.Reply, error) {
	c := a(node)
	if c == nil {
		return wire.Reply{}, fmt.Errorf("%s: %w", node, client.ErrNoAgent)
	}
	result, err := c.Request(ctx, r, nil)
	if refused, ok := errors.AsType[*client.ReplyError](err); ok {
		return wire.Reply{ID: r.ID, Code: refused.Code, Error: refused.Text}, nil
	}
	return wire.Reply{ID: r.ID, Result: result}, err
}

// onNodes puts what is done to GPUs before a cluster's own backend.
func (s *session) onNodes(cluster string, scheduler migactions.Scheduler) actions.Backend {
	o := migactions.Options{Cluster: cluster, Scheduler: scheduler, Operator: operator()}
	if s.agents != nil {
		o.Agent = s.agents
	}
	return migactions.New(o)
}
