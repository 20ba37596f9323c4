package migtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

func profileName(slices, gb int) string { return fmt.Sprintf("%dg.%dgb", slices, gb) }

// Device is one GPU. It is safe for concurrent use; its fields are set before that.
type Device struct {
	Board Board
	// Fault is asked before every call, which has the number n from 1; an error is the
	// call's answer, and nothing happens.
	Fault func(n int, call string) error
	// Late faults are asked after a call that changed something: it happened, and its
	// answer is the error.
	Late func(n int, call string) error
	// NeedsReset makes a change of mode pending, as in a passthrough VM.
	NeedsReset bool
	// Held are instances that something invisible uses.
	Held []int

	mu        sync.Mutex
	state     fleet.MIGState
	processes []fleet.GPUProcess
	calls     []string
	serial    int
}

var _ mig.Device = (*Device)(nil)

// New returns a device with MIG enabled and empty, or disabled.
func New(b Board, mode fleet.MIGMode) *Device {
	return &Device{Board: b, state: fleet.MIGState{Current: mode, Pending: mode, Slices: b.Memory}}
}

// Set gives the device instances, by a layout with places: "3g.40gb@0,1g.10gb@4".
func (d *Device) Set(layout string) error {
	l, err := mig.ParseLayout(layout)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.state = fleet.MIGState{Current: l.Mode, Pending: l.Mode, Slices: d.Board.Memory}
	d.mu.Unlock()
	for _, item := range l.Items {
		p := d.byName(item.Profile)
		if p == nil {
			return fmt.Errorf("%s: no profile %s", d.Board.Name, item.Profile)
		}
		id, err := d.create(p.ID, item.Start, p.Memory)
		if err == nil {
			_, err = d.cut(id, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Use puts processes on the device.
func (d *Device) Use(processes ...fleet.GPUProcess) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.processes = processes
}

// Now is the state, without a call.
func (d *Device) Now() fleet.MIGState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.copy()
}

// Calls lists the calls so far.
func (d *Device) Calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// Forget starts the list and the numbers of calls anew.
func (d *Device) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = nil
}

// Reset does what a reset of the GPU does: the mode takes hold, instances are gone.
func (d *Device) Reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.Current, d.state.Instances, d.processes = d.state.Pending, nil, nil
}

// call notes a call and asks for its fault.
func (d *Device) call(format string, args ...any) error {
	d.mu.Lock()
	name := fmt.Sprintf(format, args...)
	d.calls = append(d.calls, name)
	n := len(d.calls)
	d.mu.Unlock()
	if d.Fault != nil {
		return d.Fault(n, name)
	}
	return nil
}

// late is the answer to a call that was carried out.
func (d *Device) late() error {
	if d.Late == nil {
		return nil
	}
	calls := d.Calls()
	return d.Late(len(calls), calls[len(calls)-1])
}

func (d *Device) copy() fleet.MIGState {
	s := d.state
	s.Instances = slices.Clone(s.Instances)
	for i := range s.Instances {
		s.Instances[i].CIs = slices.Clone(s.Instances[i].CIs)
	}
	return s
}

// State implements mig.Device.
func (d *Device) State(context.Context) (fleet.MIGState, error) {
	if err := d.call("state"); err != nil {
		return fleet.MIGState{}, err
	}
	return d.Now(), nil
}

// Profiles implements mig.Device.
func (d *Device) Profiles(context.Context) ([]mig.Profile, error) {
	if err := d.call("profiles"); err != nil {
		return nil, err
	}
	return slices.Clone(d.Board.Profiles), nil
}

// Processes implements mig.Device.
func (d *Device) Processes(context.Context) ([]fleet.GPUProcess, error) {
	if err := d.call("processes"); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.processes), nil
}

// SetMode implements mig.Device. As with NVML it succeeds although the mode may only
// be pending.
func (d *Device) SetMode(_ context.Context, enabled bool) error {
	if err := d.call("mode %v", enabled); err != nil {
		return err
	}
	d.mu.Lock()
	d.state.Pending = fleet.MIGDisabled
	if enabled {
		d.state.Pending = fleet.MIGEnabled
	}
	if len(d.processes) == 0 && len(d.state.Instances) == 0 && !d.NeedsReset {
		d.state.Current = d.state.Pending
	}
	d.mu.Unlock()
	return d.late()
}

// CreateInstance implements mig.Device.
func (d *Device) CreateInstance(_ context.Context, profileID, start, size int) (int, error) {
	if err := d.call("create %d@%d:%d", profileID, start, size); err != nil {
		return 0, err
	}
	id, err := d.create(profileID, start, size)
	return id, errors.Join(err, d.late())
}

// DestroyInstance implements mig.Device.
func (d *Device) DestroyInstance(_ context.Context, instance int) error {
	if err := d.call("destroy %d", instance); err != nil {
		return err
	}
	return errors.Join(d.destroy(instance), d.late())
}

// CreateCompute implements mig.Device.
func (d *Device) CreateCompute(_ context.Context, instance, n int) (int, error) {
	if err := d.call("create-ci %d %d", instance, n); err != nil {
		return 0, err
	}
	id, err := d.cut(instance, n)
	return id, errors.Join(err, d.late())
}

// DestroyCompute implements mig.Device.
func (d *Device) DestroyCompute(_ context.Context, instance, compute int) error {
	if err := d.call("destroy-ci %d %d", instance, compute); err != nil {
		return err
	}
	return errors.Join(d.uncut(instance, compute), d.late())
}
