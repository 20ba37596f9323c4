package mig

import (
	"fmt"
	"slices"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Plan works out the least change that gives a device the layout: which instances
// stay where they are, which must go, which are made, and where. It touches nothing.
//
// A layout that this board cannot have is an ErrLayout that says why in numbers. What
// stands in the way now (processes, a pending mode) is in the plan's Blockers.
func Plan(state fleet.MIGState, profiles []Profile, layout Layout, processes []fleet.GPUProcess) (wire.MIGPlan, error) {
	p := wire.MIGPlan{Before: state}
	if state.Current != fleet.MIGEnabled && state.Current != fleet.MIGDisabled {
		return p, fmt.Errorf("%w: this GPU cannot be partitioned (MIG %s)", ErrLayout, modeWord(state.Current))
	}
	b := newBoard(state, profiles)
	wishes, err := b.wishes(layout)
	if err != nil {
		return p, err
	}
	if layout.Mode != state.Current {
		p.Mode = layout.Mode
	}
	if err := b.fill(&p, wishes, processes); err != nil {
		return p, err
	}
	p.Holders = holders(&p, processes)
	p.Blockers = append(pendingBlockers(state), holderBlockers(&p)...)
	p.Warnings = warnings(&p, processes)
	return p, nil
}

// fill settles what stays, goes and is made.
func (b *board) fill(p *wire.MIGPlan, wishes []wish, processes []fleet.GPUProcess) error {
	places := b.arrange(wishes, standings(p.Before.Instances, processes))
	if places == nil {
		return b.misfit(wishes)
	}
	kept := map[int]bool{}
	for _, pl := range places {
		if pl.keep >= 0 {
			kept[pl.keep] = true
			p.Keep = append(p.Keep, p.Before.Instances[pl.keep])
			continue
		}
		p.Create = append(p.Create, newInstance(pl.profile, pl.start))
	}
	for i := range p.Before.Instances {
		if !kept[i] {
			p.Destroy = append(p.Destroy, p.Before.Instances[i])
		}
	}
	p.Keep, p.Create, p.Destroy = byStart(p.Keep), byStart(p.Create), byStart(p.Destroy)
	p.After = byStart(slices.Concat(p.Keep, p.Create))
	return nil
}

// newInstance is an instance that is not there yet, whole: with one compute instance.
func newInstance(p *Profile, start int) fleet.MIGInstance {
	return fleet.MIGInstance{
		ID: -1, Profile: p.Name, Start: start, Size: p.Memory, Compute: p.Compute, Bytes: p.Bytes,
		CIs: []fleet.ComputeInstance{{ID: -1, Profile: p.Name, Slices: p.Compute}},
	}
}

// standings are the instances that may stay: those that are whole. One that was cut
// into smaller compute instances, or has none, is not what a layout names.
func standings(list []fleet.MIGInstance, processes []fleet.GPUProcess) []standing {
	var out []standing
	for i := range list {
		inst := &list[i]
		if len(inst.CIs) != 1 || inst.CIs[0].Slices != inst.Compute {
			continue
		}
		busy := slices.ContainsFunc(processes, func(p fleet.GPUProcess) bool { return p.Instance == inst.ID })
		out = append(out, standing{shapeOf(inst), inst.Start, i, busy})
	}
	return out
}

// holders are the processes in the way: of what must go, and of the whole device when
// its mode changes.
func holders(p *wire.MIGPlan, processes []fleet.GPUProcess) []fleet.GPUProcess {
	var out []fleet.GPUProcess
	for _, proc := range processes {
		gone := slices.ContainsFunc(p.Destroy, func(i fleet.MIGInstance) bool { return i.ID == proc.Instance })
		if gone || p.Mode != "" {
			out = append(out, proc)
		}
	}
	return out
}

func pendingBlockers(s fleet.MIGState) []string {
	if !pending(s) {
		return nil
	}
	return []string{fmt.Sprintf("MIG mode is pending: %s now, %s after a reset or reboot; reset the GPU or reboot the node first",
		modeWord(s.Current), modeWord(s.Pending))}
}

// pending reports a mode that waits for a reset.
func pending(s fleet.MIGState) bool {
	return s.Pending != fleet.MIGUnknown && s.Pending != s.Current
}

func holderBlockers(p *wire.MIGPlan) []string {
	var out []string
	for i := range p.Holders {
		out = append(out, holderWords(&p.Holders[i], p)+": it must end first")
	}
	return out
}

func warnings(p *wire.MIGPlan, processes []fleet.GPUProcess) []string {
	var out []string
	if p.Mode != "" {
		out = append(out, "changing the MIG mode resets the GPU on some boards, and needs every client of it gone, monitors included")
	}
	for i := range processes {
		if proc := &processes[i]; proc.Instance < 0 && p.Mode == "" && len(p.Destroy) > 0 {
			out = append(out, holderWords(proc, p)+": the driver may call an instance in use because of it")
		}
	}
	return out
}
