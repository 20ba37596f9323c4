package mig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// The operations of this backend: what Step.Op says. A journal may hold them, so their
// words stay.
const (
	opMIG   = "mig-apply" // args: uuid, layout, request, reason
	opReset = "gpu-reset" // args: uuid, request, reason
	opGRES  = "gres"      // wait only; args: want, daemonUp
)

type op struct {
	do    func(b *Backend, ctx context.Context, s actions.Step) error
	check func(b *Backend, ctx context.Context, s actions.Step) (actions.Reading, error)
}

var ops = map[string]op{
	opMIG:   {(*Backend).doMIG, (*Backend).checkMIG},
	opReset: {(*Backend).doReset, (*Backend).checkReset},
	opGRES:  {func(*Backend, context.Context, actions.Step) error { return nil }, (*Backend).checkGRES},
}

// resend is the time between two tries to learn what became of a request.
const resend = 2 * time.Second

func (b *Backend) doMIG(ctx context.Context, s actions.Step) error {
	return b.do(ctx, s, wire.OpMIGApply, wire.MIGArgs{UUID: s.Args["uuid"], Layout: s.Args["layout"]})
}

func (b *Backend) doReset(ctx context.Context, s actions.Step) error {
	return b.do(ctx, s, wire.OpGPUReset, wire.GPUArgs{UUID: s.Args["uuid"]})
}

// do sends a request until its outcome is known: the agent does the same id only once.
func (b *Backend) do(ctx context.Context, s actions.Step, op wire.Op, args any) error {
	r, err := b.request(op, s.Args["request"], s.Args["reason"], args)
	if err != nil {
		return err
	}
	reply, err := b.opts.Agent.Request(ctx, s.Target.Name, r)
	for err != nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: agent of %s: %w", actions.ErrUnreachable, s.Target.Name, err)
		case <-time.After(resend):
			reply, err = b.opts.Agent.Request(ctx, s.Target.Name, r)
		}
	}
	if err := outcome(&reply); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done[r.ID] = true
	return nil
}

func (b *Backend) request(op wire.Op, id, reason string, args any) (wire.Request, error) {
	if b.opts.Agent == nil {
		return wire.Request{}, fmt.Errorf("%w: %s", actions.ErrRefused, noAgents)
	}
	raw, err := json.Marshal(args)
	return wire.Request{Version: wire.Version, ID: id, Op: op, Who: b.opts.Operator, Reason: reason, Args: raw}, err
}

const noAgents = "no node agents are configured here"

// outcome is the error that a reply stands for.
func outcome(r *wire.Reply) error {
	switch {
	case r.Error == "":
		return nil
	case r.Code == wire.CodeFailed, r.Code == wire.CodeLeft:
		return fmt.Errorf("%w: %s", actions.ErrFailed, r.Error)
	}
	return fmt.Errorf("%w: %s", actions.ErrRefused, strings.TrimPrefix(r.Error, "refused: "))
}

// ask sends a request that changes nothing, and reads its result.
func (b *Backend) ask(ctx context.Context, node string, op wire.Op, args, result any) error {
	r, err := b.request(op, newID(), "", args)
	if err != nil {
		return err
	}
	reply, err := b.opts.Agent.Request(ctx, node, r)
	if err != nil {
		return fmt.Errorf("%w: agent of %s: %w", actions.ErrUnreachable, node, err)
	}
	if err := outcome(&reply); err != nil {
		return err
	}
	if err := json.Unmarshal(reply.Result, result); err != nil {
		return fmt.Errorf("agent of %s: %s: what it answered is not understood: %w", node, op, err)
	}
	return nil
}

// checkMIG reads the GPU back: what is wanted holds when no change is left to make.
func (b *Backend) checkMIG(ctx context.Context, s actions.Step) (actions.Reading, error) {
	var p wire.MIGPlan
	err := b.ask(ctx, s.Target.Name, wire.OpMIGPlan, wire.MIGArgs{UUID: s.Args["uuid"], Layout: s.Args["layout"]}, &p)
	if err != nil {
		return actions.Reading{}, err
	}
	return actions.Reading{Holds: isSo(&p), State: mig.Describe(p.Before)}, nil
}

// isSo reports that a device has the layout it was planned for, now and after a reset.
func isSo(p *wire.MIGPlan) bool {
	s := &p.Before
	return p.Mode == "" && len(p.Create) == 0 && len(p.Destroy) == 0 && (s.Pending == fleet.MIGUnknown || s.Pending == s.Current)
}

// checkReset holds when the agent said that the reset was done, and the GPU answers
// without asking for more. That it answers proves no reset by itself.
func (b *Backend) checkReset(ctx context.Context, s actions.Step) (actions.Reading, error) {
	var checks []fleet.Check
	if err := b.ask(ctx, s.Target.Name, wire.OpHealth, wire.GPUArgs{UUID: s.Args["uuid"]}, &checks); err != nil {
		if errors.Is(err, actions.ErrFailed) || errors.Is(err, actions.ErrRefused) {
			return actions.Reading{State: err.Error()}, nil
		}
		return actions.Reading{}, err
	}
	b.mu.Lock()
	done := b.done[s.Args["request"]]
	b.mu.Unlock()
	var bad []string
	for _, c := range checks {
		if c.Result == fleet.CheckBad {
			bad = append(bad, c.Name+": "+c.Text)
		}
	}
	switch {
	case !done:
		return actions.Reading{State: "the GPU answers; that it was reset is not known"}, nil
	case len(bad) > 0:
		return actions.Reading{State: "reset, and still bad: " + strings.Join(bad, "; ")}, nil
	}
	return actions.Reading{Holds: true, State: "reset, and it answers: every check is good"}, nil
}
