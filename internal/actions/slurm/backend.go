// Package slurm plans and carries out actions on one Slurm cluster.
//
// Each verb is a row of the verbs table: what it is about, which write it needs,
// and a function that turns one target into steps or into a refusal. The facts it
// relies on (who may do what, what requeue really does) are those seen on real
// clusters of 22.05, 24.11 and 26.05.
//
// It imports actions, fleet and the Slurm client.
package slurm

import (
	"context"
	"fmt"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

// Options are what a Backend is made of.
type Options struct {
	Cluster  string // its name in the config
	Client   *slurm.Client
	Operator string           // the person at the keyboard, for drain reasons
	Now      func() time.Time // nil: time.Now
}

// Backend acts on one Slurm cluster. It is safe for concurrent use.
type Backend struct {
	cluster  string
	client   *slurm.Client
	operator string
	now      func() time.Time
}

var _ actions.Backend = (*Backend)(nil)

// New returns the backend of one cluster.
func New(o Options) *Backend {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Backend{cluster: o.Cluster, client: o.Client, operator: o.Operator, now: o.Now}
}

// Plan implements actions.Backend.
func (b *Backend) Plan(ctx context.Context, snap *fleet.Snapshot, req actions.Request) (*actions.Plan, error) {
	rule, ok := verbs[req.Verb]
	if !ok {
		return nil, fmt.Errorf("%s: Slurm has no such verb", req.Verb)
	}
	p := &planner{
		cluster: b.cluster, operator: b.operator, now: b.now(),
		snap: snap, req: req,
		full: func(id string) ([]slurm.JobDetail, error) { return b.job(ctx, id) },
		plan: &actions.Plan{Verb: req.Verb, Request: req, At: b.now(), Timeout: rule.timeout},
	}
	p.inverse = actions.Request{Verb: rule.inverse}
	writer, err := b.client.Writer(rule.op)
	if err != nil {
		p.block(actions.BlockVersion, fmt.Sprintf("%s cannot %s: %v", b.cluster, req.Verb, err))
	} else if p.hello, err = writer.Hello(ctx); err != nil {
		p.block(actions.BlockSource, fmt.Sprintf("%s does not answer over %s: %v", b.cluster, writer.Via(), err))
	} else {
		p.plan.Clusters = []actions.Acting{{Cluster: b.cluster, User: p.hello.User, Role: p.hello.Role, Via: writer.Via()}}
	}
	rule.check(p)
	for _, t := range req.Targets {
		rule.target(p, t)
	}
	p.finish()
	return p.plan, nil
}

// job reads every record that id stands for, freshly.
func (b *Backend) job(ctx context.Context, id string) ([]slurm.JobDetail, error) {
	t, _, err := b.client.Reader(ctx)
	if err != nil {
		return nil, err
	}
	return t.Job(ctx, id)
}

// node reads one node, freshly.
func (b *Backend) node(ctx context.Context, name string) (fleet.View, error) {
	t, _, err := b.client.Reader(ctx)
	if err != nil {
		return fleet.View{}, err
	}
	return t.Node(ctx, name)
}
