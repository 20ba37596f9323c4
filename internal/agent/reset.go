package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/host"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// answerLimit is how long a device may take to answer after a reset.
const answerLimit = 30 * time.Second

// reset resets a device that nobody holds, and sees it answer.
func (d *Desk) reset(ctx context.Context, r *wire.Request, progress func(string)) wire.Reply {
	var args wire.GPUArgs
	if err := unmarshal(r.Args, &args); err != nil {
		return refuse(r, err)
	}
	gpu := *d.sampler.Latest().GPU(args.UUID) // it was there when the request was checked
	began := time.Now()
	progress("letting go of the driver")
	if err := d.resetAlone(ctx, &gpu, progress); err != nil {
		if errors.Is(err, ErrInUse) {
			return refuse(r, err)
		}
		return wire.Reply{ID: r.ID, Code: wire.CodeLeft, Error: err.Error()}
	}
	progress("waiting for the device to answer")
	d.sampler.book.WasReset(gpu.PCI, time.Now())
	now, err := d.fresh(ctx, args.UUID, began, answerLimit)
	if err != nil {
		return wire.Reply{ID: r.ID, Code: wire.CodeLeft, Error: "it was reset, and " + err.Error()}
	}
	return done(r, now.Checks)
}

func (d *Desk) resetAlone(ctx context.Context, gpu *fleet.GPU, progress func(string)) error {
	release, err := d.sampler.Exclusive(ctx, "reset of "+gpu.UUID)
	if err != nil {
		return err
	}
	defer release()
	if err := d.unheld(gpu); err != nil {
		return err
	}
	progress("resetting")
	if err := d.sampler.opts.Driver.Reset(ctx, gpu.UUID); err != nil {
		return fmt.Errorf("the driver did not reset it: %w%s", err, d.hint(err))
	}
	return nil
}

// unheld refuses a device that a process holds, ours excepted, and says which.
func (d *Desk) unheld(gpu *fleet.GPU) error {
	if gpu.Minor < 0 {
		return nil // the driver will say
	}
	holders, err := d.sampler.opts.Host.Holders(gpu.Minor)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInUse, err)
	}
	var words []string
	for _, h := range holders {
		if h.PID != os.Getpid() {
			words = append(words, d.describe(h))
		}
	}
	if len(words) > 0 {
		return fmt.Errorf("%w: held by %s", ErrInUse, strings.Join(words, ", "))
	}
	return nil
}

// describe is a holder with its job, and what helps where that is known.
func (d *Desk) describe(h host.Holder) string {
	text := h.String()
	if o := d.sampler.opts.Host.Owner(h.PID, false); o.Job.ID != "" {
		text += " of job " + o.Job.ID
	} else if o.Pod != "" {
		text += " of pod " + o.Pod
	}
	switch {
	case strings.HasPrefix(h.Name, "nvidia-persiste"):
		text += " [systemctl stop nvidia-persistenced]"
	case h.Name == "nv-hostengine" || strings.HasPrefix(h.Name, "dcgm"):
		text += " [stop DCGM: systemctl stop nvidia-dcgm, or its pod]"
	case h.Name == "gpuctl":
		text += " [another gpuctl agent: ask that one]"
	}
	return text
}

// hint explains a device that is in use although no process holds it.
func (d *Desk) hint(err error) string {
	switch {
	case !errors.Is(err, ErrInUse):
		return ""
	case d.sampler.opts.Host.DisplayDriver():
		return "; no process holds it: nvidia_drm with modeset=Y does (unload it, or boot with nvidia-drm.modeset=0)"
	}
	return "; no process holds it as far as this agent sees: look for one in another PID namespace, and for kernel modules with lsmod"
}

// fresh waits for a device to be read after a moment, and to answer.
func (d *Desk) fresh(ctx context.Context, uuid string, after time.Time, limit time.Duration) (*fleet.GPU, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	why := "it was not read"
	for seen := (*State)(nil); ; {
		s, err := d.sampler.Next(ctx, seen)
		if err != nil {
			return nil, fmt.Errorf("after %s %s", limit, why)
		}
		seen = s
		g := s.GPU(uuid)
		if g != nil && g.Health.State == fleet.GPUAnswers && g.At.After(after) {
			return g, nil
		}
		if g != nil && g.Health.State != fleet.GPUAnswers {
			why = fmt.Sprintf("it is %s: %s", g.Health.State, g.Health.Why)
		}
	}
}
