// Package agenttest simulates a GPU node for tests of what stands on the agent: a
// driver with any number of devices, and the files of a host.
package agenttest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Driver is a simulated GPU driver. It is safe for concurrent use.
type Driver struct {
	Version string // of the driver
	// Devices makes the MIG side of a device; nil: there is none.
	Devices func(uuid string) mig.Device

	mu        sync.Mutex
	gpus      []fleet.GPU
	err       error
	stuck     bool
	inUse     map[string]bool
	listeners []chan agent.DriverEvent
	calls     []string
	open      bool
}

var _ agent.Driver = (*Driver)(nil)

// NewDriver simulates H100 devices with the UUIDs of UUID and the bus ids of PCI.
func NewDriver(gpus int) *Driver {
	d := &Driver{Version: "570.86.15", inUse: map[string]bool{}}
	for i := range gpus {
		d.gpus = append(d.gpus, fleet.GPU{
			UUID: UUID(i), Index: i, Minor: i, Model: "NVIDIA H100 80GB HBM3", Serial: fmt.Sprintf("16500000%02d", i), PCI: PCI(i),
			Health: fleet.GPUHealth{State: fleet.GPUAnswers},
			Temp:   fleet.Read(40), TempLimit: fleet.Read(87), Power: fleet.Read(90), PowerCap: fleet.Read(700), Util: fleet.Read(0),
			MemUsed: fleet.Read(1 << 30), MemTotal: fleet.Read(80 << 30), SMClock: fleet.Read(1980),
			MIG: fleet.MIGState{Current: fleet.MIGDisabled, Pending: fleet.MIGDisabled, Slices: 8},
			Checks: []fleet.Check{
				{Name: fleet.CheckECC, Result: fleet.CheckOK, Text: "no uncorrectable errors"},
				{Name: fleet.CheckPersistence, Result: fleet.CheckOK, Text: "on"},
				{Name: fleet.FaultRecovery, Result: fleet.CheckOK, Text: "none"},
			},
		})
	}
	return d
}

// UUID is the UUID of a simulated device.
func UUID(i int) string { return fmt.Sprintf("GPU-%08d-0000-0000-0000-000000000000", i) }

// PCI is its bus id.
func PCI(i int) string { return fmt.Sprintf("00000000:%02X:00.0", 0x10+i) }

// Change changes a device.
func (d *Driver) Change(i int, change func(*fleet.GPU)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.gpus[i])
}

// Drop has the driver no longer list a device.
func (d *Driver) Drop(i int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gpus = slices.DeleteFunc(slices.Clone(d.gpus), func(g fleet.GPU) bool { return g.Index == i })
}

// Fail has every sample fail; nil ends that.
func (d *Driver) Fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

// Stick has every sample hang until its context ends.
func (d *Driver) Stick(stuck bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stuck = stuck
}

// Hold has resets of a device refused because it is in use.
func (d *Driver) Hold(uuid string, held bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inUse[uuid] = held
}

// Calls lists the calls so far that change something: "release", "reset UUID".
func (d *Driver) Calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// Open reports that the driver holds handles.
func (d *Driver) Open() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open || len(d.listeners) > 0
}

// Emit sends an event to whoever listens.
func (d *Driver) Emit(e agent.DriverEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.listeners {
		l <- e
	}
}

// Sample implements agent.Driver.
func (d *Driver) Sample(ctx context.Context) (agent.DriverSample, error) {
	d.mu.Lock()
	if d.stuck {
		d.mu.Unlock()
		<-ctx.Done()
		return agent.DriverSample{}, fmt.Errorf("sample: %w", agent.ErrHanging)
	}
	defer d.mu.Unlock()
	if d.err != nil {
		return agent.DriverSample{}, d.err
	}
	d.open = true
	s := agent.DriverSample{Driver: d.Version, CUDA: "12.8", NVML: "12.570.86.15", At: time.Now(), GPUs: slices.Clone(d.gpus)}
	for i := range s.GPUs {
		s.GPUs[i].At = s.At
	}
	return s, nil
}

// Events implements agent.Driver.
func (d *Driver) Events(ctx context.Context) (<-chan agent.DriverEvent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return nil, d.err
	}
	l := make(chan agent.DriverEvent, 16)
	d.listeners = append(d.listeners, l)
	context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.listeners = slices.DeleteFunc(d.listeners, func(c chan agent.DriverEvent) bool { return c == l })
		close(l)
	})
	return l, nil
}

// MIG implements agent.Driver.
func (d *Driver) MIG(uuid string) mig.Device {
	if d.Devices == nil {
		return nil
	}
	return d.Devices(uuid)
}

// Reset implements agent.Driver.
func (d *Driver) Reset(_ context.Context, uuid string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, "reset "+uuid)
	if d.open || len(d.listeners) > 0 || d.inUse[uuid] {
		return fmt.Errorf("reset %s: %w", uuid, agent.ErrInUse)
	}
	return nil
}

// Release implements agent.Driver.
func (d *Driver) Release(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, "release")
	d.open = false
	return nil
}

// Close implements agent.Driver.
func (d *Driver) Close() error { return nil }
