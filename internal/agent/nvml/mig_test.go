//go:build cgo

package nvml

import (
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/test/fakenvml"
)

func migDevice(t *testing.T, board fakenvml.Board) (*fakenvml.State, mig.Device) {
	t.Helper()
	state := fakenvml.Build(t).State(t, 1, board)
	return state, open(t, state).MIG(state.UUID(0))
}

func TestProfilesOfEachBoard(t *testing.T) {
	for board, want := range map[fakenvml.Board][]string{
		fakenvml.A100x40: {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb", "1g.5gb+me", "1g.10gb"},
		fakenvml.A30:     {"1g.6gb", "2g.12gb", "4g.24gb", "1g.6gb+me", "2g.12gb+me"},
		fakenvml.H200:    {"1g.18gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb", "1g.18gb+me", "1g.35gb"},
	} {
		_, d := migDevice(t, board)
		profiles, err := d.Profiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range profiles {
			names = append(names, p.Name)
			if len(p.Placements) == 0 || p.Memory == 0 || p.Max == 0 || p.Bytes == 0 {
				t.Errorf("%s: %+v", board, p)
			}
		}
		if !reflect.DeepEqual(names, want) {
			t.Errorf("%s: %q, want %q", board, names, want)
		}
	}
}

// NVIDIA's guide: 3g at 4 has id 2, 1g at 6 has 13, 2g at 4 has 5.
func TestInstancesComeAndGo(t *testing.T) {
	state, d := migDevice(t, fakenvml.A100)
	ctx := t.Context()
	if err := d.SetMode(ctx, true); err != nil {
		t.Fatal(err)
	}
	gi, err := d.CreateInstance(ctx, 9, 4, 4)
	if err != nil || gi != 2 {
		t.Fatalf("GPU instance %d, %v", gi, err)
	}
	if one, err := d.CreateInstance(ctx, 19, 1, 1); err != nil || one != 8 {
		t.Fatalf("GPU instance %d, %v", one, err)
	}
	ci, err := d.CreateCompute(ctx, gi, 0)
	if err != nil || ci != 0 {
		t.Fatalf("compute instance %d, %v", ci, err)
	}
	got, err := d.State(ctx)
	if err != nil || len(got.Instances) != 2 || got.Instances[1].CIs[0].Slices != 3 || got.Instances[1].UUID == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := d.CreateInstance(ctx, 9, 4, 4); !errors.Is(err, mig.ErrNoRoom) {
		t.Errorf("over another instance: %v", err)
	}
	if err := d.DestroyInstance(ctx, gi); !errors.Is(err, mig.ErrInUse) {
		t.Errorf("with a compute instance in it: %v", err)
	}
	state.Process(0, os.Getpid(), 1<<30, gi, ci)
	if err := d.DestroyCompute(ctx, gi, ci); !errors.Is(err, agent.ErrInUse) {
		t.Errorf("with a process on it: %v", err)
	}
	holders, err := d.Processes(ctx)
	if err != nil || len(holders) != 1 || holders[0].PID != os.Getpid() || holders[0].Instance != gi {
		t.Errorf("holders %+v, %v", holders, err)
	}
	state.EndProcess(0, os.Getpid())
	if err := errors.Join(d.DestroyCompute(ctx, gi, ci), d.DestroyInstance(ctx, gi), d.DestroyInstance(ctx, 8)); err != nil {
		t.Error(err)
	}
	if got, err := d.State(ctx); err != nil || len(got.Instances) != 0 || got.Current != fleet.MIGEnabled {
		t.Errorf("%+v, %v", got, err)
	}
	if err := d.DestroyInstance(ctx, 8); !errors.Is(err, agent.ErrNotFound) {
		t.Errorf("once more: %v", err)
	}
}

func TestC92_ModeThatStaysPending(t *testing.T) {
	state, d := migDevice(t, fakenvml.H100)
	state.Set(0, "mig_activation", "reset_required")
	if err := d.SetMode(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	got, err := d.State(t.Context())
	if err != nil || got.Current != fleet.MIGDisabled || got.Pending != fleet.MIGEnabled {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSampleShowsAChangeAtOnce(t *testing.T) {
	state := fakenvml.Build(t).State(t, 1, fakenvml.A30)
	s := open(t, state)
	sample(t, s)
	if err := s.MIG(state.UUID(0)).SetMode(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if g := sample(t, s).GPUs[0]; g.MIG.Current != fleet.MIGEnabled || g.Util.Quality != fleet.NotApplicable {
		t.Errorf("%+v", g.MIG)
	}
}

func TestRightsAndUnknownDevices(t *testing.T) {
	state := fakenvml.Build(t).State(t, 1)
	s := open(t, state)
	state.Fault("nvmlDeviceSetMigMode 0 no_permission")
	if err := s.MIG(state.UUID(0)).SetMode(t.Context(), true); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v", err)
	}
	if _, err := s.MIG("GPU-nobody").State(t.Context()); !errors.Is(err, agent.ErrNotFound) {
		t.Errorf("%v", err)
	}
	state.Set(0, "board", "T4")
	if err := s.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.MIG(state.UUID(0)).State(t.Context()); err != nil || got.Current != fleet.MIGUnsupported {
		t.Errorf("%+v, %v", got, err)
	}
}

// A request is for a UUID: another device in its place is left alone.
func TestDeviceThatWasExchanged(t *testing.T) {
	state := fakenvml.Build(t).State(t, 1, fakenvml.A100)
	s := open(t, state)
	uuid := sample(t, s).GPUs[0].UUID
	state.Set(0, "uuid", "GPU-new")
	if err := s.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.MIG(uuid).SetMode(t.Context(), true); err == nil {
		t.Error("another device was changed")
	}
	if lines := state.MIG(0); len(lines) != 0 {
		t.Errorf("MIG state %q", lines)
	}
}
