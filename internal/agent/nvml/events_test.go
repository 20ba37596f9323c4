//go:build cgo

package nvml

import (
	"context"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/test/fakenvml"
)

func next(t *testing.T, events <-chan agent.DriverEvent) agent.DriverEvent {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the channel is closed")
		}
		return e
	case <-time.After(20 * time.Second):
		t.Fatal("no event")
	}
	return agent.DriverEvent{}
}

func TestEventsOfEachKind(t *testing.T) {
	state := fakenvml.Build(t).State(t, 3)
	s := open(t, state)
	events := subscribe(t, s)
	for _, e := range []struct {
		device int
		kind   string
		value  int
		want   agent.DriverEvent
	}{
		{1, "xid", 79, agent.DriverEvent{Kind: fleet.FaultXID, Code: 79}},
		{2, "recovery", 1, agent.DriverEvent{Kind: fleet.FaultRecovery}},
		{0, "ecc-double", 0, agent.DriverEvent{Kind: fleet.FaultDoubleBit}},
		{0, "xid", 999, agent.DriverEvent{Kind: fleet.FaultXID, Code: 999}},
	} {
		state.Event(e.device, e.kind, e.value)
		got := next(t, events)
		if got.UUID != state.UUID(e.device) || got.Kind != e.want.Kind || got.Code != e.want.Code || got.At.IsZero() {
			t.Errorf("%+v, want %+v of device %d", got, e.want, e.device)
		}
	}
}

// subscribe returns when every device is registered, which a sample does.
func subscribe(t *testing.T, s *Supervised) <-chan agent.DriverEvent {
	t.Helper()
	events, err := s.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sample(t, s)
	return events
}

// The driver tells a burst with the last code for all, as nvml.h says. The number of
// events is right, and that is all that can be trusted of them.
func TestBurstOfEvents(t *testing.T) {
	lib := fakenvml.Build(t)
	state := lib.State(t, 1)
	s := open(t, state)
	events := subscribe(t, s)
	state.AppendEvents("0 xid 13\n0 xid 31\n0 xid 63\n0 xid 48\n")
	for i := range 4 {
		if e := next(t, events); e.Code != 48 {
			t.Errorf("event %d has code %d", i, e.Code)
		}
	}
}

func TestEventsGoOnWithANewChild(t *testing.T) {
	state := fakenvml.Build(t).State(t, 2)
	s := open(t, state)
	events := subscribe(t, s)
	if err := s.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, s, "registered anew", func(agent.DriverSample) bool {
		state.Event(1, "xid", 31)
		select {
		case e := <-events:
			return e.Code == 31 && e.UUID == state.UUID(1)
		case <-time.After(50 * time.Millisecond):
			return false
		}
	})
}

func TestEventsEndWithTheirContext(t *testing.T) {
	s := open(t, fakenvml.Build(t).State(t, 1))
	ctx, cancel := context.WithCancel(t.Context())
	events, err := s.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for range events {
		t.Error("an event of nothing")
	}
}
