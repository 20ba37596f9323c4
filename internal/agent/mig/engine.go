package mig

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Options are what an Engine is made of.
type Options struct {
	// Dir is where it writes down what it is about to change; it is made when missing.
	// What cannot be written down is not done.
	Dir string
	// BootID is that of this host; a change that a reboot interrupted is known by it.
	BootID string
	Now    func() time.Time // nil: time.Now
}

// Engine plans and makes changes of MIG layouts. It is safe for concurrent use, also
// by several processes on one Dir: a device is changed by one at a time.
type Engine struct{ opts Options }

// NewEngine returns an engine.
func NewEngine(o Options) *Engine {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Engine{opts: o}
}

// Plan reads the device and works out what args takes. gpu is the device as the agent
// sampled it last: it tells owners of processes, and faults that forbid a change. With
// args.Force, processes in the way are warnings.
func (e *Engine) Plan(ctx context.Context, dev Device, gpu *fleet.GPU, args wire.MIGArgs) (wire.MIGPlan, error) {
	layout, err := ParseLayout(args.Layout)
	if err != nil {
		return wire.MIGPlan{UUID: args.UUID}, err
	}
	state, err := dev.State(ctx)
	if err != nil {
		return wire.MIGPlan{UUID: args.UUID}, refusal("the GPU cannot be read: "+err.Error(), err)
	}
	profiles, err := dev.Profiles(ctx)
	if err != nil {
		return wire.MIGPlan{UUID: args.UUID}, refusal("the GPU does not tell its profiles: "+err.Error(), err)
	}
	processes, err := dev.Processes(ctx)
	if err != nil {
		return wire.MIGPlan{UUID: args.UUID}, refusal("who uses the GPU cannot be read: "+err.Error(), err)
	}
	p, err := Plan(state, profiles, layout, owned(processes, gpu))
	p.UUID = args.UUID
	if err != nil {
		return p, err
	}
	if args.Force {
		held := holderBlockers(&p)
		p.Blockers = slices.DeleteFunc(p.Blockers, func(b string) bool { return slices.Contains(held, b) })
		p.Warnings = append(held, p.Warnings...)
	}
	p.Blockers = append(Obstacles(gpu), p.Blockers...)
	return p, nil
}

func refusal(text string, err error) *Failure {
	return &Failure{Code: wire.CodeRefused, Text: text, Err: err}
}

// Obstacles says why a device must not be repartitioned, whatever the layout: it is
// lost or hangs, or its driver asks for a reset or reboot.
func Obstacles(gpu *fleet.GPU) []string {
	if gpu == nil {
		return nil
	}
	var out []string
	switch gpu.Health.State {
	case fleet.GPULost, fleet.GPUHanging, fleet.GPUMissing:
		out = append(out, strings.TrimSuffix(fmt.Sprintf("the GPU is %s: %s", gpu.Health.State, gpu.Health.Why), ": "))
	case fleet.GPUUnwatched, fleet.GPUAnswers:
	}
	for _, f := range gpu.Faults {
		if f.Kind == recoveryAction && f.Cleared.IsZero() {
			out = append(out, "a recovery action is due: "+f.Text+"; do that first")
		}
	}
	return out
}

// recoveryAction is the kind of fault that a driver's wish for a reset or reboot is.
const recoveryAction = "recovery-action"

// owned gives processes the owners that the agent found out.
func owned(processes []fleet.GPUProcess, gpu *fleet.GPU) []fleet.GPUProcess {
	if gpu == nil {
		return processes
	}
	out := slices.Clone(processes)
	for i := range out {
		for _, known := range gpu.Processes {
			if known.PID == out[i].PID && out[i].Owner.User == "" && out[i].Owner.Job.ID == "" {
				out[i].Owner = known.Owner
				if out[i].Name == "" {
					out[i].Name = known.Name
				}
			}
		}
	}
	return out
}

// Apply makes the change of a plan that Plan made, and reads it back. It reads the
// device again first and refuses when it is not as it was planned for. A nil error
// means that the device was read and is what the plan wants. Otherwise the error is a
// *Failure: the state before was restored, or it says exactly what is left.
//
// Once the first change is sent the change is brought to an end even if ctx ends: half
// a layout is worse than one that nobody waits for. progress may be nil.
func (e *Engine) Apply(ctx context.Context, dev Device, plan wire.MIGPlan, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	if len(plan.Blockers) > 0 {
		return refusal("refused: "+strings.Join(plan.Blockers, "; "), nil)
	}
	lock, err := e.lock(plan.UUID)
	if err != nil {
		return err
	}
	defer lock.release()
	if err = recheck(ctx, dev, &plan); err != nil {
		return err
	}
	if nothingToDo(&plan) {
		return nil
	}
	if err = e.write(&entry{UUID: plan.UUID, BootID: e.opts.BootID, At: e.opts.Now(), Plan: plan}); err != nil {
		return refusal("what cannot be written down is not done: "+err.Error(), err)
	}
	h := &hand{dev: dev, state: plan.Before, tell: progress}
	err = h.carryOut(context.WithoutCancel(ctx), wanted(&plan))
	if rerr := e.remove(plan.UUID); rerr != nil && err == nil {
		progress("the journal could not be removed: " + rerr.Error())
	}
	return err
}

// recheck refuses a device that is no longer what the plan was made for.
func recheck(ctx context.Context, dev Device, plan *wire.MIGPlan) error {
	now, err := dev.State(ctx)
	if err != nil {
		return refusal("the GPU cannot be read: "+err.Error(), err)
	}
	if !sameState(now, plan.Before) || !sameIDs(now, plan.Before) {
		return refusal(fmt.Sprintf("the GPU has changed since the plan: it was %s, it is %s; plan again", Describe(plan.Before), Describe(now)), nil)
	}
	processes, err := dev.Processes(ctx)
	if err != nil {
		return refusal("who uses the GPU cannot be read: "+err.Error(), err)
	}
	for _, p := range holders(plan, processes) {
		if !slices.ContainsFunc(plan.Holders, func(known fleet.GPUProcess) bool { return known.PID == p.PID }) {
			return refusal("refused: "+holderWords(&p, plan)+" since the plan was made", nil)
		}
	}
	return nil
}

func nothingToDo(p *wire.MIGPlan) bool {
	return p.Mode == "" && len(p.Destroy) == 0 && len(p.Create) == 0
}

// wanted is the state that a plan leads to.
func wanted(p *wire.MIGPlan) fleet.MIGState {
	mode := p.Before.Current
	if p.Mode != "" {
		mode = p.Mode
	}
	return fleet.MIGState{Current: mode, Pending: mode, Slices: p.Before.Slices, Instances: p.After}
}

var uuidForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,99}$`)
