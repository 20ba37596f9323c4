//go:build cgo

package nvml

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/test/fakenvml"
)

func states(got agent.DriverSample) map[fleet.GPUState]int {
	n := map[fleet.GPUState]int{}
	for i := range got.GPUs {
		n[got.GPUs[i].Health.State]++
	}
	return n
}

func TestC74_LostDeviceKeepsItsIdentity(t *testing.T) {
	for _, code := range []string{"lost", "unknown"} {
		t.Run(code, func(t *testing.T) {
			state := fakenvml.Build(t).State(t, 4)
			s := open(t, state)
			before := sample(t, s)
			state.Fault("* 3 lost")
			if code == "unknown" { // found at the handle, by a new child
				state.Fault("nvmlDeviceGetHandleByIndex 3 unknown")
				if err := s.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			after := sample(t, s)
			if n := states(after); n[fleet.GPUAnswers] != 3 || n[fleet.GPULost] != 1 || len(after.GPUs) != 4 {
				t.Fatalf("%v", n)
			}
			g := after.GPUs[3]
			if g.UUID != state.UUID(3) || g.PCI != before.GPUs[3].PCI || g.Serial != before.GPUs[3].Serial || !g.At.Equal(before.GPUs[3].At) {
				t.Errorf("identity %+v", g)
			}
			if g.Temp.Quality != fleet.Unreadable || g.Util.Quality != fleet.Unreadable || g.Health.Why == "" {
				t.Errorf("%+v", g)
			}
			state.Fault()
			if got := sample(t, s); states(got)[fleet.GPUAnswers] != 4 {
				t.Errorf("after it is back: %v", states(got))
			}
		})
	}
}

func TestDeviceThatIsNoLongerCounted(t *testing.T) {
	state := fakenvml.Build(t).State(t, 3)
	s := open(t, state)
	sample(t, s)
	state.SetDriver("count", "2")
	got := sample(t, s)
	if len(got.GPUs) != 3 || got.GPUs[2].Health.State != fleet.GPUMissing || got.GPUs[2].UUID != state.UUID(2) {
		t.Fatalf("%+v", got.GPUs)
	}
	state.SetDriver("count", "3")
	if got := sample(t, s); states(got)[fleet.GPUAnswers] != 3 {
		t.Errorf("%v", states(got))
	}
}

// Eight devices, one lost, one hanging: the sample in which it happens has a row for
// each, and every later one too.
func TestC113_OneLostOneHangingTheOthersReport(t *testing.T) {
	state := fakenvml.Build(t).State(t, 8)
	s := open(t, state, func(o *Options) { o.ProbeAfter = time.Hour })
	sample(t, s)
	state.Fault("* 5 lost", "nvmlDeviceGetTemperature 2 hang")
	for i := range 3 {
		began := time.Now()
		got := sample(t, s)
		took := time.Since(began)
		if n := states(got); len(got.GPUs) != 8 || n[fleet.GPUAnswers] != 6 || n[fleet.GPULost] != 1 || n[fleet.GPUHanging] != 1 {
			t.Fatalf("sample %d: %v", i, n)
		}
		g := got.GPUs[2]
		if g.UUID != state.UUID(2) || !strings.HasPrefix(g.Health.Why, "nvmlDeviceGetTemperature has not returned") {
			t.Errorf("sample %d: %+v", i, g.Health)
		}
		t.Logf("sample %d took %s", i, took.Round(time.Millisecond))
	}
}

func TestHangAtTheHandle(t *testing.T) {
	state := fakenvml.Build(t).State(t, 3)
	state.Fault("nvmlDeviceGetHandleByIndex 1 hang")
	s := open(t, state)
	for range 2 {
		got := sample(t, s)
		if n := states(got); n[fleet.GPUAnswers] != 2 || n[fleet.GPUHanging] != 1 || !strings.Contains(got.GPUs[1].Health.Why, "nvmlDeviceGetHandleByIndex") {
			t.Fatalf("%v %+v", n, got.GPUs[1].Health)
		}
	}
}

// A call that holds a lock of the driver keeps every device waiting. The one that has
// it is found and left alone.
func TestC113_HangThatHoldsTheDriversLock(t *testing.T) {
	state := fakenvml.Build(t).State(t, 4)
	s := open(t, state, func(o *Options) { o.ProbeAfter = 2 * time.Second })
	sample(t, s)
	state.Fault("nvmlDeviceGetPowerUsage 1 hang-lock")
	if got := sample(t, s); states(got)[fleet.GPUHanging] == 0 {
		t.Errorf("%v", states(got))
	}
	until(t, s, "three devices answer again", func(got agent.DriverSample) bool {
		return states(got)[fleet.GPUAnswers] == 3 && got.GPUs[1].Health.State == fleet.GPUHanging
	})
}

func TestHangingDeviceComesBack(t *testing.T) {
	state := fakenvml.Build(t).State(t, 2)
	s := open(t, state, func(o *Options) { o.ProbeAfter = 100 * time.Millisecond })
	state.Fault("nvmlDeviceGetFieldValues 0 hang")
	if n := states(sample(t, s)); n[fleet.GPUHanging] != 1 {
		t.Fatalf("%v", n)
	}
	if _, err := s.MIG(state.UUID(1)).State(t.Context()); err != nil {
		t.Errorf("the other device: %v", err)
	}
	state.Fault()
	until(t, s, "both answer", func(got agent.DriverSample) bool { return states(got)[fleet.GPUAnswers] == 2 })
}

func TestHangingDeviceIsNotRepartitioned(t *testing.T) {
	state := fakenvml.Build(t).State(t, 2)
	s := open(t, state)
	sample(t, s)
	state.Fault("nvmlDeviceGetTemperature 0 hang")
	until(t, s, "left alone", func(agent.DriverSample) bool { return len(s.skipped()) == 1 })
	if _, err := s.MIG(state.UUID(0)).State(t.Context()); !errors.Is(err, agent.ErrHanging) {
		t.Errorf("%v", err)
	}
}

func TestLibraryThatNeverStarts(t *testing.T) {
	state := fakenvml.Build(t).State(t, 2)
	state.Fault("nvmlInitWithFlags * hang")
	s := open(t, state, func(o *Options) { o.Deadline = 100 * time.Millisecond })
	_, err := s.Sample(t.Context())
	if !errors.Is(err, agent.ErrHanging) || !strings.Contains(err.Error(), "nvmlInitWithFlags") {
		t.Errorf("%v", err)
	}
}

func TestSlowDeviceIsNotHanging(t *testing.T) {
	state := fakenvml.Build(t).State(t, 2)
	s := open(t, state, func(o *Options) { o.Deadline = 2 * time.Second })
	sample(t, s)
	state.Fault("* 0 slow:300") // more than the deadline in all
	got := sample(t, s)
	if n := states(got); n[fleet.GPUAnswers] != 2 {
		t.Errorf("%v %+v", n, got.GPUs[0].Health)
	}
}

func TestFrozenAndKilledChild(t *testing.T) {
	state := fakenvml.Build(t).State(t, 2)
	s := open(t, state, func(o *Options) { o.Deadline = 200 * time.Millisecond })
	sample(t, s)
	pid := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.child.cmd.Process.Pid
	}
	if err := syscall.Kill(pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, s, "a new child answers", func(got agent.DriverSample) bool { return states(got)[fleet.GPUAnswers] == 2 })
	if err := syscall.Kill(pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if got, err := s.Sample(ctx); err != nil || states(got)[fleet.GPUHanging] != 2 {
		t.Errorf("a sample that must be quick: %v, %v", states(got), err)
	}
	if got := sample(t, s); states(got)[fleet.GPUHanging] != 2 {
		t.Errorf("a frozen child: %v", states(got))
	}
	until(t, s, "a new child answers", func(got agent.DriverSample) bool { return states(got)[fleet.GPUAnswers] == 2 })
}

func TestReleaseLetsGo(t *testing.T) {
	state := fakenvml.Build(t).State(t, 2)
	s := open(t, state)
	sample(t, s)
	state.Fault("nvmlDeviceGetTemperature 0 hang")
	sample(t, s)
	s.mu.Lock()
	pid := s.child.cmd.Process.Pid
	s.mu.Unlock()
	if err := s.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err == nil {
		t.Error("the child is still there")
	}
	state.Fault()
	if n := states(sample(t, s)); n[fleet.GPUAnswers] != 2 {
		t.Errorf("after it was opened anew: %v", n)
	}
}

func TestResetRunsAfterRelease(t *testing.T) {
	state := fakenvml.Build(t).State(t, 2)
	var ran []string
	out, failure := "", error(nil)
	var s *Supervised
	s = open(t, state, func(o *Options) {
		o.Run = func(_ context.Context, argv ...string) ([]byte, error) {
			ran = argv
			if s.child != nil {
				t.Error("the driver is still open")
			}
			return []byte(out), failure
		}
	})
	sample(t, s)
	if err := s.Reset(t.Context(), state.UUID(1)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ran, " "); got != "nvidia-smi --gpu-reset -i "+state.UUID(1) {
		t.Errorf("ran %q", got)
	}
	out, failure = "GPU 00000000:06:00.0 is currently in use by one or more other processes", errors.New("exit status 255")
	if err := s.Reset(t.Context(), state.UUID(1)); !errors.Is(err, agent.ErrInUse) || !strings.Contains(err.Error(), "currently in use") {
		t.Errorf("%v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	state := fakenvml.Build(t).State(t, 4, fakenvml.A100)
	s := open(t, state)
	sample(t, s)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 5 {
				if _, err := s.Sample(t.Context()); err != nil {
					t.Error(err)
				}
				if _, err := s.MIG(state.UUID(i)).State(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
