package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

// call carries out one operation over a transport that can.
type call struct {
	op slurm.Op
	do func(ctx context.Context, t slurm.Transport, s actions.Step) error
}

var calls = map[string]call{
	opDrain: {slurm.OpUpdateNode, func(ctx context.Context, t slurm.Transport, s actions.Step) error {
		return t.UpdateNodes(ctx, []string{s.Target.Name}, slurm.NodeChange{State: "DRAIN", Reason: s.Args["reason"]})
	}},
	opResumeNode: {slurm.OpUpdateNode, func(ctx context.Context, t slurm.Transport, s actions.Step) error {
		return t.UpdateNodes(ctx, []string{s.Target.Name}, slurm.NodeChange{State: "RESUME"})
	}},
	opHold: {slurm.OpHold, func(ctx context.Context, t slurm.Transport, s actions.Step) error {
		return t.Hold(ctx, s.Args["id"])
	}},
	opRelease: {slurm.OpRelease, func(ctx context.Context, t slurm.Transport, s actions.Step) error {
		return t.Release(ctx, s.Args["id"])
	}},
	opRequeue: {slurm.OpRequeue, func(ctx context.Context, t slurm.Transport, s actions.Step) error {
		return t.Requeue(ctx, s.Args["id"], s.Args["hold"] == "true")
	}},
	opCancel: {slurm.OpCancel, func(ctx context.Context, t slurm.Transport, s actions.Step) error {
		return t.Signal(ctx, s.Args["id"], s.Args["signal"], false)
	}},
	opSignal: {slurm.OpSignal, func(ctx context.Context, t slurm.Transport, s actions.Step) error {
		return t.Signal(ctx, s.Args["id"], s.Args["signal"], s.Args["batch"] == "true")
	}},
	opSuspend: {slurm.OpSuspend, func(ctx context.Context, t slurm.Transport, s actions.Step) error {
		return t.Suspend(ctx, s.Args["id"])
	}},
	opResume: {slurm.OpSuspend, func(ctx context.Context, t slurm.Transport, s actions.Step) error {
		return t.Resume(ctx, s.Args["id"])
	}},
	opStartNow:  {slurm.OpUpdateJob, startNow},
	opExclude:   jobUpdate(excludeChange),
	opPriority:  jobUpdate(priorityChange),
	opTimeLimit: jobUpdate(func(s actions.Step) (slurm.JobChange, error) { return slurm.JobChange{TimeLimit: s.Args["want"]}, nil }),
	opPartition: jobUpdate(func(s actions.Step) (slurm.JobChange, error) { return slurm.JobChange{Partition: s.Args["value"]}, nil }),
}

// startNow lifts a job's begin time, once the time is over that the step leaves before.
func startNow(ctx context.Context, t slurm.Transport, s actions.Step) error {
	if after, err := time.ParseDuration(s.Args["after"]); err == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(after):
		}
	}
	return t.UpdateJob(ctx, s.Args["id"], slurm.JobChange{StartNow: true})
}

func jobUpdate(change func(actions.Step) (slurm.JobChange, error)) call {
	return call{slurm.OpUpdateJob, func(ctx context.Context, t slurm.Transport, s actions.Step) error {
		c, err := change(s)
		if err != nil {
			return err
		}
		return t.UpdateJob(ctx, s.Args["id"], c)
	}}
}

func excludeChange(s actions.Step) (slurm.JobChange, error) {
	nodes, err := fleet.ExpandHosts(s.Args["nodes"], fleet.MaxHosts)
	return slurm.JobChange{Exclude: nodes}, err
}

func priorityChange(s actions.Step) (slurm.JobChange, error) {
	n, err := strconv.ParseInt(s.Args["value"], 10, 64)
	return slurm.JobChange{Priority: &n}, err
}

// Do implements actions.Backend.
func (b *Backend) Do(ctx context.Context, s actions.Step) error {
	if s.Op == opRequeue && b.holdsAlready(ctx, s) {
		return nil // twice would stop it again: it saved and went back by itself, or a killed console had sent it
	}
	c, ok := calls[s.Op]
	if !ok {
		return fmt.Errorf("%w: step %q is not known to this version of gpuctl", actions.ErrRefused, s.Op)
	}
	t, err := b.client.Writer(c.op)
	if err != nil {
		return fmt.Errorf("%w: %w", actions.ErrRefused, err)
	}
	err = c.do(ctx, t, s)
	if errors.Is(err, slurm.ErrState) && b.wasFirst(ctx, s) {
		return nil
	}
	return classify(err)
}

// wasFirst reports that somebody else did what a step was refused for. A node that was
// just returned reads NOT_RESPONDING for a second, which is for the read-back to watch.
func (b *Backend) wasFirst(ctx context.Context, s actions.Step) bool {
	switch s.Op {
	case opResumeNode:
		v, err := b.node(ctx, s.Target.Name)
		return err == nil && !v.Has(fleet.FlagDrain) && !v.Has(fleet.FlagFail) && v.Base != fleet.BaseDown
	case opHold, opRelease, opSuspend, opResume, opCancel:
		return b.holdsAlready(ctx, s)
	}
	return false
}

// holdsAlready reports that what the step is to bring about is so.
func (b *Backend) holdsAlready(ctx context.Context, s actions.Step) bool {
	r, err := b.Check(ctx, s)
	return err == nil && r.Holds
}

// classify maps the client's errors to what a run does about them.
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, slurm.ErrUnreachable), errors.Is(err, slurm.ErrBusy), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", actions.ErrUnreachable, err)
	case errors.Is(err, slurm.ErrDenied), errors.Is(err, slurm.ErrState), errors.Is(err, slurm.ErrNotFound),
		errors.Is(err, slurm.ErrUnsupported), errors.Is(err, slurm.ErrInput), errors.Is(err, slurm.ErrAuth):
		return fmt.Errorf("%w: %w", actions.ErrRefused, err)
	}
	return err
}
