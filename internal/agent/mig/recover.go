package mig

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Recovery is what became of a change that an agent did not live to end.
type Recovery struct {
	UUID string
	// Code is empty when the device is whole: as it was before, or as it was to be.
	// CodeLeft: something else is there; a person must look.
	Code wire.Code
	Text string // one line, with what there is now
	Left fleet.MIGState
}

// Recover ends the changes that a killed agent left, at the start of the next one:
// a device that is neither as before nor as wanted is put back. Changes that another
// living agent is making are left alone. device returns a device by UUID.
func (e *Engine) Recover(ctx context.Context, device func(uuid string) Device) []Recovery {
	if e.opts.Dir == "" {
		return nil
	}
	uuids, err := e.entries()
	if err != nil {
		return []Recovery{{Code: wire.CodeLeft, Text: "unfinished changes of MIG layouts cannot be listed: " + err.Error()}}
	}
	var out []Recovery
	for _, uuid := range uuids {
		lock, err := e.lock(uuid)
		if err != nil {
			if CodeOf(err) != wire.CodeBusy {
				out = append(out, Recovery{UUID: uuid, Code: wire.CodeLeft, Text: "an unfinished change of its MIG layout cannot be looked at: " + err.Error()})
			}
			continue
		}
		if r := e.recoverOne(ctx, uuid, device); r != nil {
			out = append(out, *r)
		}
		lock.release()
	}
	return out
}

// recoverOne settles one device; nil when its change has ended meanwhile. The entry
// goes unless the device could not be read.
func (e *Engine) recoverOne(ctx context.Context, uuid string, device func(string) Device) *Recovery {
	en, err := e.load(uuid)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Recovery{UUID: uuid, Code: wire.CodeLeft, Text: "a change of its MIG layout was interrupted, and what it was cannot be read: " + err.Error()}
	}
	r := e.settleEntry(ctx, en, device(uuid))
	if r.Code != wire.CodeBusy {
		if err := e.remove(uuid); err != nil {
			r.Text += "; the journal could not be removed: " + err.Error()
		}
		return r
	}
	r.Code = wire.CodeLeft
	return r
}

// settleEntry compares the device with what was under way. CodeBusy: it could not be
// read, so the entry must stay.
func (e *Engine) settleEntry(ctx context.Context, en *entry, dev Device) *Recovery {
	r := &Recovery{UUID: en.UUID, Left: en.Plan.Before}
	h := &hand{dev: dev, state: en.Plan.Before, tell: func(string) {}}
	began := fmt.Sprintf("a change of the MIG layout that began at %s was interrupted", en.At.UTC().Format("2006-01-02T15:04:05Z"))
	if err := h.read(ctx); err != nil {
		r.Code = wire.CodeBusy
		r.Text = fmt.Sprintf("%s, and the GPU cannot be read now: %v; before, it was %s", began, err, Describe(en.Plan.Before))
		return r
	}
	r.Left = h.state
	target := wanted(&en.Plan)
	switch {
	case sameState(h.state, target):
		r.Text = began + "; it had come to its end: " + Describe(h.state)
	case sameState(h.state, en.Plan.Before):
		r.Text = began + "; nothing had changed: " + Describe(h.state)
	case en.BootID != e.opts.BootID:
		r.Code = wire.CodeLeft
		r.Text = fmt.Sprintf("%s by a restart of the host, which MIG instances do not survive: the GPU is %s; before, it was %s", began, Describe(h.state), Describe(en.Plan.Before))
	default:
		e.putBack(ctx, h, en, r, began)
	}
	return r
}

func (e *Engine) putBack(ctx context.Context, h *hand, en *entry, r *Recovery, began string) {
	var f *Failure
	err := h.goBack(ctx, en.Plan.Before, wanted(&en.Plan), errors.New(began))
	errors.As(err, &f)
	r.Left, r.Text = h.state, began+"; it had come to its end: "+Describe(h.state)
	if f != nil {
		r.Text = f.Text
		if f.Code == wire.CodeLeft {
			r.Code, r.Left = f.Code, f.Left
		}
	}
}
