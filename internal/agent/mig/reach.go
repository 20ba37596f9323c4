package mig

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// errPending: the driver took a change of mode, and it holds only after a reset.
var errPending = errors.New("the change of MIG mode is pending")

// carryOut brings the device to the target; when that fails, back to where it was. Its
// error is a *Failure.
func (h *hand) carryOut(ctx context.Context, target fleet.MIGState) error {
	before := h.state
	err := h.reach(ctx, target)
	if err == nil {
		return nil
	}
	if errors.Is(err, errPending) {
		return h.leftPending(before, err)
	}
	return h.goBack(ctx, before, target, err)
}

// goBack restores the state before. What failed may have arrived all the same: a
// device that is as wanted stays so.
func (h *hand) goBack(ctx context.Context, before, target fleet.MIGState, cause error) error {
	h.tell("failed: " + cause.Error())
	h.tell("restore " + Describe(before))
	if h.read(ctx) == nil && sameState(h.state, target) {
		return nil
	}
	var err error
	for range 2 { // what failed once may have been a moment's trouble
		if err = h.reach(ctx, before); err == nil {
			return &Failure{
				Code: wire.CodeFailed, Err: cause,
				Text: fmt.Sprintf("%v; the state before was restored and read back: %s", cause, Describe(h.state)),
			}
		}
	}
	return h.left(ctx, before, cause, err)
}

// left says exactly what there is now.
func (h *hand) left(ctx context.Context, before fleet.MIGState, cause, rollback error) error {
	f := &Failure{Code: wire.CodeLeft, Err: cause}
	err := h.read(ctx)
	f.Left, f.Unread = h.state, err != nil
	now := "is now " + Describe(h.state)
	if f.Unread {
		now = fmt.Sprintf("cannot be read back (%v); by the calls that succeeded it is %s", err, Describe(h.state))
	}
	f.Text = fmt.Sprintf("%v; restoring failed too: %v. The GPU %s; before, it was %s", cause, rollback, now, Describe(before))
	return f
}

// leftPending leaves a mode that waits for a reset: putting it back would keep a board
// that needs one from ever changing.
func (h *hand) leftPending(before fleet.MIGState, cause error) error {
	return &Failure{
		Code: wire.CodeLeft, Err: cause, Left: h.state,
		Text: fmt.Sprintf("%v: the GPU is %s; before, it was %s. Something holds the GPU, or this board needs a reset for it: reset the GPU or reboot the node, then apply again",
			cause, Describe(h.state), Describe(before)),
	}
}

// reach brings the device to the target with as few calls as that takes, and reads it
// back. What is already as wanted is not touched.
func (h *hand) reach(ctx context.Context, target fleet.MIGState) error {
	if err := h.read(ctx); err != nil {
		return err
	}
	if target.Current == fleet.MIGDisabled {
		return h.reachOff(ctx, target)
	}
	if err := h.mode(ctx, fleet.MIGEnabled); err != nil {
		return err
	}
	profiles, err := h.profiles(ctx)
	if err != nil {
		return err
	}
	if err := h.removeExtras(ctx, target.Instances); err != nil {
		return err
	}
	if err := h.addMissing(ctx, profiles, target.Instances); err != nil {
		return err
	}
	return h.confirm(ctx, target)
}

func (h *hand) reachOff(ctx context.Context, target fleet.MIGState) error {
	if err := h.removeExtras(ctx, nil); err != nil {
		return err
	}
	if err := h.mode(ctx, fleet.MIGDisabled); err != nil {
		return err
	}
	return h.confirm(ctx, target)
}

// mode sets the mode unless it is set, and reads back that it holds now.
func (h *hand) mode(ctx context.Context, m fleet.MIGMode) error {
	if h.state.Current == m && !pending(h.state) {
		return nil
	}
	if err := h.setMode(ctx, m); err != nil {
		return err
	}
	if err := h.read(ctx); err != nil {
		return err
	}
	switch {
	case h.state.Current == m && !pending(h.state):
		return nil
	case h.state.Pending == m:
		return fmt.Errorf("set MIG %s: %w", m, errPending)
	}
	return fmt.Errorf("set MIG %s: the driver said yes, and the mode is still %s", m, h.state.Current)
}

func (h *hand) profiles(ctx context.Context) (profiles []Profile, err error) {
	err = h.do(ctx, "read the profiles", func(ctx context.Context) (err error) {
		profiles, err = h.dev.Profiles(ctx)
		return err
	})
	return profiles, err
}

// removeExtras destroys what is not wanted. An instance that only has other compute
// instances than wanted stays, without them.
func (h *hand) removeExtras(ctx context.Context, want []fleet.MIGInstance) error {
	for _, inst := range byStart(h.state.Instances) {
		at := indexAt(want, spotOf(&inst))
		var err error
		switch {
		case at < 0:
			err = h.destroy(ctx, inst)
		case !slices.Equal(cuts(&inst), cuts(&want[at])):
			err = h.clear(ctx, inst)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addMissing makes what is wanted and not there.
func (h *hand) addMissing(ctx context.Context, profiles []Profile, want []fleet.MIGInstance) error {
	for _, inst := range byStart(want) {
		at := indexAt(h.state.Instances, spotOf(&inst))
		var err error
		switch {
		case at < 0:
			err = h.create(ctx, profiles, inst)
		case len(h.state.Instances[at].CIs) == 0:
			err = h.cut(ctx, h.state.Instances[at], inst.CIs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// confirm reads the device back: only what it says counts.
func (h *hand) confirm(ctx context.Context, target fleet.MIGState) error {
	if err := h.read(ctx); err != nil {
		return err
	}
	if !sameState(h.state, target) {
		return fmt.Errorf("read back: the GPU is %s, not %s", Describe(h.state), Describe(target))
	}
	return nil
}
