//go:build cgo

package nvml

import (
	"errors"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// eventWait is how long one call waits for an event, in milliseconds.
const eventWait = 10_000

// eventPause is between calls that fail: a lost device makes them fail at once.
const eventPause = time.Second

// wantEvents makes the set that devices register with.
func (l *library) wantEvents() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set != nil {
		return nil
	}
	set, err := ask(l.calls, "nvmlEventSetCreate", l.api.EventSetCreate)
	if err == nil {
		l.set = set
	}
	return err
}

// register has the device report events; true when there is nothing more to be done. It
// is called by the device's own worker: a device that hangs here keeps no other waiting.
func (l *library) register(g *gpu) bool {
	l.mu.Lock()
	set := l.set
	l.mu.Unlock()
	if set == nil {
		return false
	}
	types, err := ask(g.calls, "nvmlDeviceGetSupportedEventTypes", g.handle.GetSupportedEventTypes)
	if err != nil {
		return true
	}
	types &= nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError | nvml.EventTypeGpuRecoveryAction
	err = g.do("nvmlDeviceRegisterEvents", func() nvml.Return { return g.handle.RegisterEvents(types, set) })
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.handles[g.handle] = g.identity.UUID
	}
	return true
}

// watch tells events until the process ends; a set exists.
func (l *library) watch(tell func(agent.DriverEvent)) {
	c := &calls{symbols: l.symbols}
	for {
		e, err := ask(c, "nvmlEventSetWait", func() (nvml.EventData, nvml.Return) { return l.api.EventSetWait(l.set, eventWait) })
		var ce *callError
		switch {
		case err == nil:
			l.tell(&e, tell)
		case errors.Is(err, agent.ErrOldDriver):
			return
		case errors.As(err, &ce) && ce.ret == nvml.ERROR_TIMEOUT:
		default:
			c.lost = nil
			time.Sleep(eventPause)
		}
	}
}

func (l *library) tell(e *nvml.EventData, tell func(agent.DriverEvent)) {
	l.mu.Lock()
	uuid := l.handles[e.Device]
	l.mu.Unlock()
	out := agent.DriverEvent{UUID: uuid, Code: int(e.EventData), At: time.Now()}
	switch e.EventType {
	case nvml.EventTypeXidCriticalError:
		out.Kind = fleet.FaultXID
	case nvml.EventTypeGpuRecoveryAction:
		out.Kind = fleet.FaultRecovery
	case nvml.EventTypeDoubleBitEccError:
		out.Kind = fleet.FaultDoubleBit
	default:
		return
	}
	tell(out)
}
