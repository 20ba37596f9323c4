package mig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// callPatience bounds one call on the device; a change of mode may reset it.
const callPatience = time.Minute

// hand does one change at a time to a device, tells what it does, and keeps what the
// device should now be, for the case that it can no longer be read.
type hand struct {
	dev   Device
	state fleet.MIGState // as read last, with the calls that succeeded since
	tell  func(string)
}

func (h *hand) do(ctx context.Context, what string, call func(context.Context) error) error {
	h.tell(what)
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	if err := call(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (h *hand) read(ctx context.Context) error {
	return h.do(ctx, "read back", func(ctx context.Context) error {
		s, err := h.dev.State(ctx)
		if err == nil {
			h.state = s
		}
		return err
	})
}

func (h *hand) setMode(ctx context.Context, m fleet.MIGMode) error {
	err := h.do(ctx, "set MIG "+string(m), func(ctx context.Context) error {
		return h.dev.SetMode(ctx, m == fleet.MIGEnabled)
	})
	if err == nil {
		h.state.Current, h.state.Pending = fleet.MIGUnknown, m // only the read-back tells more
	}
	return err
}

// destroy takes an instance away, its compute instances first.
func (h *hand) destroy(ctx context.Context, inst fleet.MIGInstance) error {
	if err := h.clear(ctx, inst); err != nil {
		return err
	}
	err := h.do(ctx, "destroy "+placed(&inst), func(ctx context.Context) error {
		return h.dev.DestroyInstance(ctx, inst.ID)
	})
	if err != nil {
		return h.explain(ctx, &inst, err)
	}
	h.state.Instances = slices.DeleteFunc(slices.Clone(h.state.Instances), func(i fleet.MIGInstance) bool { return i.ID == inst.ID })
	return nil
}

// clear takes the compute instances of an instance away.
func (h *hand) clear(ctx context.Context, inst fleet.MIGInstance) error {
	for _, ci := range inst.CIs {
		err := h.do(ctx, fmt.Sprintf("destroy compute instance %d of %s", ci.ID, placed(&inst)), func(ctx context.Context) error {
			return h.dev.DestroyCompute(ctx, inst.ID, ci.ID)
		})
		if err != nil {
			return h.explain(ctx, &inst, err)
		}
		h.change(inst.ID, func(i *fleet.MIGInstance) {
			i.CIs = slices.DeleteFunc(slices.Clone(i.CIs), func(c fleet.ComputeInstance) bool { return c.ID == ci.ID })
		})
	}
	return nil
}

// create makes an instance at its place, with the compute instances it shall have.
func (h *hand) create(ctx context.Context, profiles []Profile, inst fleet.MIGInstance) error {
	p := (&board{profiles: profiles}).byShape(shapeOf(&inst))
	if p == nil {
		return fmt.Errorf("create %s: the board reports no such profile any more", placed(&inst))
	}
	id := -1
	err := h.do(ctx, "create "+placed(&inst), func(ctx context.Context) (err error) {
		id, err = h.dev.CreateInstance(ctx, p.ID, inst.Start, inst.Size)
		return err
	})
	if err != nil {
		return err
	}
	made := inst
	made.ID, made.CIs = id, nil
	h.state.Instances = append(slices.Clone(h.state.Instances), made)
	return h.cut(ctx, made, inst.CIs)
}

// cut makes compute instances in an instance that has none.
func (h *hand) cut(ctx context.Context, inst fleet.MIGInstance, cis []fleet.ComputeInstance) error {
	sorted := slices.Clone(cis)
	slices.SortStableFunc(sorted, func(a, b fleet.ComputeInstance) int { return a.Start - b.Start })
	for _, ci := range sorted {
		wantedSlices := ci.Slices
		if wantedSlices == inst.Compute {
			wantedSlices = 0 // all
		}
		made := ci
		err := h.do(ctx, "create a compute instance in "+placed(&inst), func(ctx context.Context) (err error) {
			made.ID, err = h.dev.CreateCompute(ctx, inst.ID, wantedSlices)
			return err
		})
		if err != nil {
			return err
		}
		h.change(inst.ID, func(i *fleet.MIGInstance) { i.CIs = append(slices.Clone(i.CIs), made) })
	}
	return nil
}

// change edits one instance of the state.
func (h *hand) change(id int, edit func(*fleet.MIGInstance)) {
	h.state.Instances = slices.Clone(h.state.Instances)
	for i := range h.state.Instances {
		if h.state.Instances[i].ID == id {
			edit(&h.state.Instances[i])
		}
	}
}

// explain says what "in use" means: who uses it, or, when nobody can be seen, who it
// may be and the way out.
func (h *hand) explain(ctx context.Context, inst *fleet.MIGInstance, err error) error {
	if !errors.Is(err, ErrInUse) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	processes, perr := h.dev.Processes(ctx)
	if perr != nil {
		return fmt.Errorf("%w; who uses it cannot be read: %w", err, perr)
	}
	for _, p := range processes {
		if p.Instance == inst.ID || p.Instance < 0 {
			return fmt.Errorf("%w; pid %d %s holds it", err, p.PID, p.Name)
		}
	}
	return fmt.Errorf("%w; %s", err, wedged)
}

// wedged is the way out when something unseen holds a device.
const wedged = "no process is visible that holds it: look for nvidia-persistenced, nv-hostengine (DCGM), a monitor, a container, " +
	"or a display server on nvidia_drm (fuser -v /dev/nvidia*), stop it and try again; if there is none, reset the GPU or reboot the node"

func placed(i *fleet.MIGInstance) string {
	return Item{Profile: i.Profile, Start: i.Start}.text(1)
}
