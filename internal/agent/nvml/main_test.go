package nvml

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/test/fakenvml"
)

// TestMain is the child when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == ChildArg {
		if err := Serve(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// testDeadline is long enough for two slow cores, and short for a test.
const testDeadline = 700 * time.Millisecond

// open starts a driver on a state.
func open(t testing.TB, state *fakenvml.State, change ...func(*Options)) *Supervised {
	t.Helper()
	o := Options{Env: state.Env(), Deadline: testDeadline}
	for _, c := range change {
		c(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func sample(t testing.TB, s *Supervised) agent.DriverSample {
	t.Helper()
	got, err := s.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// until samples until the condition holds.
func until(t testing.TB, s *Supervised, what string, ok func(agent.DriverSample) bool) agent.DriverSample {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		got, err := s.Sample(ctx)
		if err == nil && ok(got) {
			return got
		}
		if ctx.Err() != nil {
			t.Fatalf("never: %s; last %+v, %v", what, got.GPUs, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// checkOf returns a check of a device.
func checkOf(t testing.TB, g *fleet.GPU, name string) fleet.Check {
	t.Helper()
	for _, c := range g.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %+v", name, g.Checks)
	return fleet.Check{}
}
