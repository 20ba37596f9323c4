//go:build cgo

package nvml

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// slowEvery is how many samples what seldom changes is kept for.
const slowEvery = 10

// gpu is one device in the child. Only its worker's goroutine uses it, calls apart.
type gpu struct {
	*calls
	lib      *library
	index    int
	handle   nvml.Device // nil: to be opened
	identity fleet.GPU   // what never changes of a device
	tick     int
	slow     slow
	before   facts // of the last sample, for counters that rise
	profiles []profile
	compute  map[uint32][]computeProfile // by profile id of the GPU instance
	names    map[int]string              // of processes seen in the last sample
	events   bool
}

// slow is what is read once in slowEvery samples.
type slow struct {
	powerCap fleet.Reading
	mig      fleet.MIGState
	other    []nvml.ProcessInfo // graphics and MPS
	facts    facts
}

func newGPU(lib *library, index int) *gpu {
	return &gpu{
		calls: &calls{symbols: lib.symbols}, lib: lib, index: index,
		compute: map[uint32][]computeProfile{}, names: map[int]string{},
	}
}

// sample reads the device. Its error means that there is no device to speak of.
func (g *gpu) sample() (*fleet.GPU, error) {
	if g.lost != nil {
		g.lost, g.handle = nil, nil // it may be back
	}
	if err := g.attach(); err != nil {
		return nil, err
	}
	if g.tick%slowEvery == 0 {
		g.readSlow()
	}
	g.tick++
	out := g.identity
	g.measure(&out)
	if g.lost != nil {
		return nil, g.lost
	}
	out.Health = fleet.GPUHealth{State: fleet.GPUAnswers}
	out.At = time.Now()
	return &out, nil
}

// attach opens the device and reads who it is.
func (g *gpu) attach() error {
	if g.handle == nil {
		g.identity, g.tick = fleet.GPU{Index: g.index, Minor: -1}, 0
		g.profiles, g.events, g.before = nil, false, facts{}
		if err := g.open(); err != nil {
			g.handle = nil
			return err
		}
	}
	if !g.events {
		g.events = g.lib.register(g)
	}
	return nil
}

func (g *gpu) open() error {
	err := g.do("nvmlDeviceGetHandleByIndex", func() (ret nvml.Return) {
		g.handle, ret = g.lib.api.DeviceGetHandleByIndex(g.index)
		return ret
	})
	if err != nil {
		return err
	}
	id := &g.identity
	if id.UUID, err = g.text("nvmlDeviceGetUUID", g.handle.GetUUID); err != nil {
		return err
	}
	id.Model, _ = g.text("nvmlDeviceGetName", g.handle.GetName) // what is not told stays empty
	id.Serial, _ = g.text("nvmlDeviceGetSerial", g.handle.GetSerial)
	id.VBIOS, _ = g.text("nvmlDeviceGetVbiosVersion", g.handle.GetVbiosVersion)
	g.place()
	limit, err := ask(g.calls, "nvmlDeviceGetTemperatureThreshold", func() (uint32, nvml.Return) {
		return g.handle.GetTemperatureThreshold(nvml.TEMPERATURE_THRESHOLD_SLOWDOWN)
	})
	id.TempLimit = reading(float64(limit), err)
	if g.lost != nil {
		return g.lost
	}
	return nil
}

// place reads where the device is on the host.
func (g *gpu) place() {
	if minor, err := ask(g.calls, "nvmlDeviceGetMinorNumber", g.handle.GetMinorNumber); err == nil {
		g.identity.Minor = minor
	}
	if pci, err := ask(g.calls, "nvmlDeviceGetPciInfo", g.handle.GetPciInfo); err == nil {
		g.identity.PCI, g.identity.PCIDevice = cText(pci.BusId[:]), pci.PciDeviceId
	}
}

// ask makes a call that returns one value.
func ask[T any](c *calls, name string, call func() (T, nvml.Return)) (v T, err error) {
	err = c.do(name, func() (ret nvml.Return) {
		v, ret = call()
		return ret
	})
	return v, err
}

func (g *gpu) text(name string, call func() (string, nvml.Return)) (string, error) {
	return ask(g.calls, name, call)
}

// number makes a call that returns one number a Reading.
func number[T ~uint32 | ~uint64 | ~int32 | ~int](c *calls, name string, call func() (T, nvml.Return)) fleet.Reading {
	v, err := ask(c, name, call)
	return reading(float64(v), err)
}

// cText is a string of C's.
func cText[T ~int8 | ~uint8](text []T) string {
	var b strings.Builder
	for _, c := range text {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}

// readSlow reads what seldom changes. The readings say themselves when they failed.
func (g *gpu) readSlow() {
	g.slow.powerCap = scale(number(g.calls, "nvmlDeviceGetEnforcedPowerLimit", g.handle.GetEnforcedPowerLimit), 1e-3)
	state, err := g.migState()
	if err == nil || !errors.Is(err, errUnsupported) {
		g.slow.mig = state
	}
	g.slow.other = g.otherProcesses()
	g.readSlowFacts()
}

// measure reads what changes all the time.
func (g *gpu) measure(out *fleet.GPU) {
	out.MIG = g.slow.mig
	out.PowerCap = g.slow.powerCap
	out.Temp = number(g.calls, "nvmlDeviceGetTemperature", func() (uint32, nvml.Return) {
		return g.handle.GetTemperature(nvml.TEMPERATURE_GPU)
	})
	out.Power = scale(number(g.calls, "nvmlDeviceGetPowerUsage", g.handle.GetPowerUsage), 1e-3)
	out.SMClock = number(g.calls, "nvmlDeviceGetClockInfo", func() (uint32, nvml.Return) {
		return g.handle.GetClockInfo(nvml.CLOCK_SM)
	})
	out.MemTotal, out.MemUsed = memory(g.calls, g.handle)
	out.Util = g.utilisation(out.MIG.Current == fleet.MIGEnabled)
	processes, err := g.computeProcesses()
	out.Processes = g.named(append(processes, g.slow.other...))
	f := g.readFacts()
	if err != nil {
		f.processes = err.Error()
	}
	f.temp, f.limit, f.margin, f.util, f.busy = out.Temp, out.TempLimit, g.margin(), out.Util, len(out.Processes) > 0
	if f.load() {
		g.readLink(&f) // now, not when it was idle
	}
	out.Checks, out.Faults = f.judge(&g.before)
	if !known(out.TempLimit) && known(f.margin) && known(out.Temp) {
		out.TempLimit = fleet.Read(out.Temp.Value + f.margin.Value)
	}
	g.before = f
}

// utilisation is not told of a device in MIG mode, which is not 0.
func (g *gpu) utilisation(mig bool) fleet.Reading {
	if mig {
		return fleet.Absent(fleet.NotApplicable, "MIG")
	}
	u, err := ask(g.calls, "nvmlDeviceGetUtilizationRates", g.handle.GetUtilizationRates)
	return reading(float64(u.Gpu), err)
}

// memory prefers the call that tells reserved memory apart from used memory.
func memory(c *calls, d nvml.Device) (total, used fleet.Reading) {
	if c.symbols.has("nvmlDeviceGetMemoryInfo_v2") {
		m, err := ask(c, "nvmlDeviceGetMemoryInfo_v2", d.GetMemoryInfo_v2)
		return reading(float64(m.Total), err), reading(float64(m.Used), err)
	}
	m, err := ask(c, "nvmlDeviceGetMemoryInfo", d.GetMemoryInfo)
	return reading(float64(m.Total), err), reading(float64(m.Used), err)
}

func scale(r fleet.Reading, by float64) fleet.Reading {
	r.Value *= by
	return r
}

// own refuses a device that is not the one that is meant.
func (g *gpu) own(uuid string) error {
	if g.lost != nil {
		g.lost, g.handle = nil, nil
	}
	if err := g.attach(); err != nil {
		return err
	}
	if g.identity.UUID != uuid {
		return fmt.Errorf("%w: device %d is now %s, not %s", errOther, g.index, g.identity.UUID, uuid)
	}
	return nil
}
