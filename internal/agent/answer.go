package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/pci"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// FaultMIGLeft is a MIG layout that is neither the one before a change nor the one
// wanted. A change that succeeds clears it.
const FaultMIGLeft = "mig-left"

// health reads a device (or, without one, what is known of the machine) and returns its
// checks. That it does not answer is the first of them.
func (d *Desk) health(ctx context.Context, r *wire.Request, device string) wire.Reply {
	if device == "" {
		return done(r, d.sampler.Latest().Node.Checks)
	}
	limit := 3*d.sampler.opts.Interval + time.Second
	g, err := d.fresh(ctx, device, time.Now(), limit)
	if err == nil {
		return done(r, append([]fleet.Check{{Name: "answers", Result: fleet.CheckOK, Text: "read at " + g.At.UTC().Format(time.RFC3339)}}, g.Checks...))
	}
	checks := []fleet.Check{{Name: "answers", Result: fleet.CheckBad, Text: err.Error()}}
	if g := d.sampler.Latest().GPU(device); g != nil {
		checks = append(checks, g.Checks...)
	}
	return done(r, checks)
}

// clearFault takes down that a person has dealt with a fault.
func (d *Desk) clearFault(peer Peer, r *wire.Request) wire.Reply {
	var args wire.ClearArgs
	if err := unmarshal(r.Args, &args); err != nil {
		return refuse(r, err)
	}
	id := ""
	if g := d.sampler.Latest().GPU(args.UUID); g != nil {
		id = g.PCI
	} else if c, ok := pci.Canonical(args.UUID); ok {
		id = c
	}
	by := fmt.Sprintf("%s (%s): %s", r.Who, peer.Name, r.Reason)
	if d.sampler.book.Clear(id, args.Kind, args.Code, by, time.Now()) == 0 {
		return refuse(r, fmt.Errorf("no open fault %s %d of %s", args.Kind, args.Code, args.UUID))
	}
	d.sampler.save() // before anybody is told
	d.sampler.hurry()
	return done(r, nil)
}

// migPlan works a layout out. It changes nothing.
func (d *Desk) migPlan(ctx context.Context, r *wire.Request) wire.Reply {
	plan, err := d.plan(ctx, r)
	if err != nil {
		return migReply(r, plan, err)
	}
	return done(r, plan)
}

func (d *Desk) plan(ctx context.Context, r *wire.Request) (wire.MIGPlan, error) {
	var args wire.MIGArgs
	if err := unmarshal(r.Args, &args); err != nil {
		return wire.MIGPlan{}, err
	}
	dev := d.sampler.opts.Driver.MIG(args.UUID)
	if d.engine == nil || dev == nil {
		return wire.MIGPlan{}, fmt.Errorf("%w: this agent does not change MIG layouts", mig.ErrLayout)
	}
	return d.engine.Plan(ctx, dev, d.sampler.Latest().GPU(args.UUID), args)
}

// migApply plans and makes a change of layout. A change of mode needs a device that
// nobody holds, and that includes ourselves.
func (d *Desk) migApply(ctx context.Context, r *wire.Request, progress func(string)) wire.Reply {
	progress("planning")
	plan, err := d.plan(ctx, r)
	if err != nil {
		return migReply(r, plan, err)
	}
	gpu := d.sampler.Latest().GPU(plan.UUID)
	if gpu == nil {
		return refuse(r, fmt.Errorf("%q: %w", plan.UUID, ErrNotFound))
	}
	if plan.Mode != "" && len(plan.Blockers) == 0 {
		release, refused := d.sampler.Exclusive(ctx, "MIG mode of "+plan.UUID+" changes")
		if refused != nil {
			return refuse(r, refused)
		}
		defer release()
		if refused := d.unheld(gpu); refused != nil {
			return refuse(r, refused)
		}
	}
	err = d.engine.Apply(ctx, d.sampler.opts.Driver.MIG(plan.UUID), plan, progress)
	if err != nil {
		if mig.CodeOf(err) == wire.CodeLeft {
			d.leftBehind(gpu.PCI, err.Error())
		}
		return migReply(r, plan, err)
	}
	d.sampler.book.Clear(gpu.PCI, FaultMIGLeft, 0, "a later change of layout succeeded", time.Now())
	return done(r, plan)
}

func migReply(r *wire.Request, plan wire.MIGPlan, err error) wire.Reply {
	if errors.Is(err, errMalformed) {
		return refuse(r, err)
	}
	reply := done(r, plan)
	reply.Code, reply.Error = mig.CodeOf(err), err.Error()
	return reply
}

func (d *Desk) leftBehind(pciID, text string) {
	now := time.Now()
	d.sampler.book.Enter(fleet.Fault{Kind: FaultMIGLeft, Text: text, PCI: pciID, First: now, Last: now, Source: "agent"})
	d.sampler.hurry()
}

// Recover ends the changes of layout that a killed agent left, or says what is left of
// them. It waits until the driver answers.
func (d *Desk) Recover(ctx context.Context) error {
	if d.engine == nil {
		return nil
	}
	for seen := (*State)(nil); ; {
		s, err := d.sampler.Next(ctx, seen)
		if err != nil {
			return err
		}
		if seen = s; len(s.GPUs) > 0 && d.sampler.Err() == nil {
			break
		}
	}
	for _, rec := range d.engine.Recover(ctx, d.sampler.opts.Driver.MIG) {
		d.sampler.opts.Log.Warn("a change of MIG layout was interrupted", "gpu", rec.UUID, "outcome", rec.Text)
		r := wire.Request{ID: "recover " + rec.UUID, Op: wire.OpMIGApply, Who: "agent", Reason: rec.Text}
		err := d.note(Peer{Name: "agent"}, &r, phaseEnded, wire.Reply{Code: rec.Code, Error: rec.Text})
		d.sampler.note("keeping the record", err)
		if rec.Code != "" {
			d.leftBehind(d.sampler.book.PCIOf(rec.UUID), rec.Text)
		}
	}
	return nil
}
