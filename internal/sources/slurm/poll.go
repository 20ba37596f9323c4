package slurm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

// poll asks for nodes and jobs and emits them as one full set, or emits nothing.
func (c *connection) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	select { // this poll answers the wish
	case <-c.wish:
	default:
	}
	start := time.Now()
	c.lastPoll = start
	views, err := c.nodes(ctx)
	if err != nil {
		return fmt.Errorf("cluster %s: %w", c.opts.Cluster, err)
	}
	jobs, err := c.transport.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("cluster %s: %w", c.opts.Cluster, err)
	}
	cost := time.Since(start)
	c.interval = min(max(c.opts.Interval, costShare*cost), maxInterval)
	jobs = c.history.add(jobs, start)
	c.last = fleet.Update{
		Source: c.opts.Cluster, At: start, Cluster: c.cluster(), Interval: c.interval, Cost: cost,
		NotUnder: notUnderstood(views, jobs), Version: c.facts.Version,
	}
	u := c.last
	u.Full, u.Views, u.Jobs = true, c.ownViews(views), c.ownJobs(jobs)
	c.sink.Update(u)
	return nil
}

// cluster is a copy of the facts, to be given away.
func (c *connection) cluster() *fleet.Cluster {
	facts := c.facts
	return &facts
}

// nodes asks for the nodes. A fleet of none is believed when it is read twice.
func (c *connection) nodes(ctx context.Context) ([]fleet.View, error) {
	views, err := c.transport.Nodes(ctx)
	if err != nil && !errors.Is(err, slurm.ErrUnbelievable) {
		return nil, err
	}
	before := c.emptyRead
	c.emptyRead = len(views) == 0
	if c.emptyRead && !before {
		return nil, fmt.Errorf("%w: the answer has no nodes; asking again", slurm.ErrUnbelievable)
	}
	return views, nil
}

// ownViews stamps the cluster's name of the config on the views.
func (c *connection) ownViews(views []fleet.View) []fleet.View {
	for i := range views {
		views[i].Cluster = c.opts.Cluster
	}
	return views
}

// ownJobs stamps the cluster's name on the jobs. Slurm gives a requeued job a new
// submit time; it keeps the key that it had in the poll before, so that cursors,
// marks and plans do not lose it.
func (c *connection) ownJobs(jobs []fleet.Job) []fleet.Job {
	submits := make(map[string]int64, len(jobs))
	for i := range jobs {
		k := &jobs[i].Key
		k.Cluster = c.opts.Cluster
		if before, ok := c.submits[k.ID]; ok {
			k.Submit = before
		}
		submits[k.ID] = k.Submit
	}
	c.submits = submits
	return jobs
}

func notUnderstood(views []fleet.View, jobs []fleet.Job) int {
	n := 0
	for i := range views {
		if len(views[i].Oddities) > 0 {
			n++
		}
	}
	for i := range jobs {
		if len(jobs[i].Oddities) > 0 {
			n++
		}
	}
	return n
}
