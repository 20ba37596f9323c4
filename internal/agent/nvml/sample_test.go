//go:build cgo

package nvml

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/test/fakenvml"
)

func TestEveryReadingOfAHealthyDevice(t *testing.T) {
	state := fakenvml.Build(t).State(t, 1, fakenvml.H100)
	state.Set(0, "temperature", "61")
	state.Set(0, "power", "431500")
	state.Set(0, "util", "97")
	state.Set(0, "sm_clock", "1755")
	state.Process(0, os.Getpid(), 5<<30, -1, -1)
	got := sample(t, open(t, state))
	if got.Driver != "570.86.15" || got.CUDA != "12.8" || got.NVML != "12.570.86.15" {
		t.Errorf("driver %q, CUDA %q, NVML %q", got.Driver, got.CUDA, got.NVML)
	}
	g := got.GPUs[0]
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"uuid", g.UUID, state.UUID(0)},
		{"model", g.Model, "NVIDIA H100 80GB HBM3"},
		{"serial", g.Serial, "1650000000"},
		{"pci", g.PCI, "00000000:05:00.0"},
		{"pci device", g.PCIDevice, uint32(0x233010de)},
		{"vbios", g.VBIOS, "96.00.74.00.01"},
		{"minor", g.Minor, 0},
		{"health", g.Health.State, fleet.GPUAnswers},
		{"temperature", g.Temp, fleet.Read(61)},
		{"limit", g.TempLimit, fleet.Read(87)},
		{"power", g.Power, fleet.Read(431.5)},
		{"power cap", g.PowerCap, fleet.Read(700)},
		{"utilisation", g.Util, fleet.Read(97)},
		{"clock", g.SMClock, fleet.Read(1755)},
		{"memory", g.MemTotal, fleet.Read(81559 << 20)},
		{"used", g.MemUsed, fleet.Read(600<<20 + 5<<30)},
		{"mig", g.MIG.Current, fleet.MIGDisabled},
		{"processes", len(g.Processes), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if p := g.Processes[0]; p.PID != os.Getpid() || p.Name == "" || p.Bytes != fleet.Read(5<<30) || p.Instance != -1 {
		t.Errorf("process %+v", p)
	}
	for _, c := range g.Checks {
		if c.Result != fleet.CheckOK && c.Result != fleet.CheckNotApplicable {
			t.Errorf("a healthy device has %+v", c)
		}
	}
}

// The signals that other tools misread, and what they must be.
func TestTrapsInTheSignals(t *testing.T) {
	t.Parallel()
	lib := fakenvml.Build(t)
	for _, c := range []struct {
		name  string
		board fakenvml.Board
		set   map[string]string
		check string
		want  fleet.CheckResult
		text  string
	}{
		{"idle is a clock reason", fakenvml.H100, map[string]string{"clock_reasons": "0x1"}, "throttle", fleet.CheckOK, ""},
		{"the power cap is normal", fakenvml.H100, map[string]string{"clock_reasons": "0x4"}, "throttle", fleet.CheckOK, ""},
		{"hardware slowdown", fakenvml.H100, map[string]string{"clock_reasons": "0x8"}, "throttle", fleet.CheckBad, "hardware slowdown"},
		{"software thermal", fakenvml.H100, map[string]string{"clock_reasons": "0x20"}, "throttle", fleet.CheckBad, "software thermal"},
		{"hardware thermal", fakenvml.H100, map[string]string{"clock_reasons": "0x41"}, "throttle", fleet.CheckBad, "hardware thermal"},
		{"power brake", fakenvml.H100, map[string]string{"clock_reasons": "0x84"}, "throttle", fleet.CheckBad, "power brake"},
		{"an idle link sleeps", fakenvml.H100, map[string]string{"pcie_gen": "1", "pcie_width": "8"}, "pcie", fleet.CheckOK, "idle"},
		{"a narrow link under load", fakenvml.H100, map[string]string{"pcie_width": "8", "util": "95"}, "pcie", fleet.CheckBad, "width 8 of 16"},
		{"a slow link under load", fakenvml.H100, map[string]string{"pcie_gen": "3", "util": "95"}, "pcie", fleet.CheckWarn, "generation 3 of 5"},
		{"volatile errors", fakenvml.H100, map[string]string{"ecc_volatile_uncorrected": "2"}, "ecc", fleet.CheckBad, "uncorrectable 2"},
		{"old errors", fakenvml.H100, map[string]string{"ecc_aggregate_uncorrected": "3"}, "ecc", fleet.CheckOK, "3 in all"},
		{"old errors, counters that restart", fakenvml.H100, map[string]string{"ecc_aggregate_uncorrected": "3", "persistence": "0"}, "ecc", fleet.CheckWarn, "persistence"},
		{"ECC off", fakenvml.H100, map[string]string{"ecc_mode": "0"}, "ecc", fleet.CheckWarn, "off"},
		{"remap pending", fakenvml.H100, map[string]string{"remapped_pending": "1"}, "row-remap", fleet.CheckWarn, "reset"},
		{"remap failed", fakenvml.H100, map[string]string{"remapped_failure": "1"}, "row-remap", fleet.CheckBad, "could not"},
		{"no remapping on the board", fakenvml.T4, nil, "row-remap", fleet.CheckNotApplicable, ""},
		{"pages to retire", fakenvml.T4, map[string]string{"retired_pending": "1"}, "retired-pages", fleet.CheckWarn, "reset"},
		{"many pages retired", fakenvml.T4, map[string]string{"retired_uncorrected": "60"}, "retired-pages", fleet.CheckBad, "60"},
		{"rows are remapped instead", fakenvml.H100, nil, "retired-pages", fleet.CheckNotApplicable, ""},
		{"links down", fakenvml.H100, map[string]string{"nvlink_down": "3,7"}, "nvlink", fleet.CheckBad, "3, 7 of 18"},
		{"no bridge", fakenvml.A30, map[string]string{"nvlink_down": "all"}, "nvlink", fleet.CheckNotApplicable, ""},
		{"no links", fakenvml.T4, nil, "nvlink", fleet.CheckNotApplicable, ""},
		{"at its limit", fakenvml.H100, map[string]string{"temperature": "87"}, "temperature", fleet.CheckBad, "87"},
		{"below another board's limit", fakenvml.A100, map[string]string{"temperature": "87"}, "temperature", fleet.CheckOK, "89"},
		{"a margin only", fakenvml.B200, map[string]string{"margin": "0"}, "temperature", fleet.CheckBad, "margin"},
		{"recovery", fakenvml.H100, map[string]string{"recovery": "2"}, "recovery-action", fleet.CheckBad, "reboot"},
		{"drain and reset", fakenvml.H100, map[string]string{"recovery": "4"}, "recovery-action", fleet.CheckBad, "drain and a reset"},
		{"a value of tomorrow", fakenvml.H100, map[string]string{"recovery": "17"}, "recovery-action", fleet.CheckBad, "17"},
		{"persistence off", fakenvml.H100, map[string]string{"persistence": "0"}, "persistence", fleet.CheckWarn, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			state := lib.State(t, 1, c.board)
			for k, v := range c.set {
				state.Set(0, k, v)
			}
			g := sample(t, open(t, state)).GPUs[0]
			got := checkOf(t, &g, c.check)
			if got.Result != c.want || !strings.Contains(got.Text, c.text) {
				t.Errorf("%+v, want %s with %q", got, c.want, c.text)
			}
		})
	}
}

func TestC79_FabricHasThreeAnswers(t *testing.T) {
	state := fakenvml.Build(t).State(t, 6, fakenvml.H100)
	state.Set(1, "fabric", "in_progress")
	state.Set(2, "fabric", "not_started")
	state.Set(3, "fabric", "not_supported")
	state.Set(4, "fabric_status", "999")
	state.Set(5, "fabric_health", "1")
	got := sample(t, open(t, state)).GPUs
	for i, want := range []fleet.CheckResult{
		fleet.CheckOK, fleet.CheckBad, fleet.CheckBad, fleet.CheckNotApplicable, fleet.CheckBad, fleet.CheckBad,
	} {
		if c := checkOf(t, &got[i], fleet.CheckFabric); c.Result != want {
			t.Errorf("device %d: %+v, want %s", i, c, want)
		}
	}
}

func TestRecoveryActionIsAFaultWithItsCode(t *testing.T) {
	state := fakenvml.Build(t).State(t, 1)
	s := open(t, state)
	if f := sample(t, s).GPUs[0].Faults; len(f) != 0 {
		t.Errorf("a healthy device has faults: %+v", f)
	}
	state.Set(0, "recovery", "1")
	f := sample(t, s).GPUs[0].Faults
	if len(f) != 1 || f[0].Kind != fleet.FaultRecovery || f[0].Code != 1 {
		t.Errorf("faults %+v", f)
	}
}

func TestRisingCounters(t *testing.T) {
	state := fakenvml.Build(t).State(t, 1)
	state.Set(0, "pcie_replay", "40")
	state.Set(0, "nvlink_replay", "7")
	s := open(t, state)
	g := sample(t, s).GPUs[0]
	for _, name := range []string{"pcie", "nvlink"} {
		if c := checkOf(t, &g, name); c.Result != fleet.CheckOK {
			t.Errorf("a counter that stands: %+v", c)
		}
	}
	state.Set(0, "pcie_replay", "41")
	state.Set(0, "nvlink_replay", "8")
	g = sample(t, s).GPUs[0]
	for _, name := range []string{"pcie", "nvlink"} {
		if c := checkOf(t, &g, name); c.Result != fleet.CheckWarn {
			t.Errorf("a counter that rises: %+v", c)
		}
	}
}

func TestC87_UnreadableIsNotZero(t *testing.T) {
	state := fakenvml.Build(t).State(t, 1)
	state.Set(0, "temperature", "unknown")
	state.Set(0, "power", "unsupported")
	state.Set(0, "memory_total", "unknown")
	g := sample(t, open(t, state)).GPUs[0]
	if g.Temp.Quality != fleet.Unreadable || !strings.Contains(g.Temp.Why, "nvmlDeviceGetTemperature: unknown error") {
		t.Errorf("temperature %+v", g.Temp)
	}
	if g.Power.Quality != fleet.Unsupported {
		t.Errorf("power %+v", g.Power)
	}
	if g.MemTotal.Quality != fleet.Unreadable || g.MemUsed.Quality != fleet.Unreadable {
		t.Errorf("memory %+v of %+v", g.MemUsed, g.MemTotal)
	}
	if c := checkOf(t, &g, "temperature"); c.Result != fleet.CheckUnreadable {
		t.Errorf("check %+v", c)
	}
	if g.Health.State != fleet.GPUAnswers {
		t.Errorf("a reading that fails is not a device that is lost: %+v", g.Health)
	}
}

func TestC89_ProcessThatIsGone(t *testing.T) {
	state := fakenvml.Build(t).State(t, 1)
	state.Process(0, 1<<30, 1<<20, -1, -1)
	g := sample(t, open(t, state)).GPUs[0]
	if len(g.Processes) != 1 || g.Processes[0].PID != 1<<30 || g.Processes[0].Name != "" {
		t.Errorf("%+v", g.Processes)
	}
}

func TestProcessesThatCannotBeListed(t *testing.T) {
	state := fakenvml.Build(t).State(t, 1)
	state.Fault("nvmlDeviceGetComputeRunningProcesses 0 unknown")
	g := sample(t, open(t, state)).GPUs[0]
	if c := checkOf(t, &g, "processes"); c.Result != fleet.CheckUnreadable {
		t.Errorf("%+v", c)
	}
}

func TestC80_MinorIsNotTheIndex(t *testing.T) {
	state := fakenvml.Build(t).State(t, 2)
	state.Set(0, "minor", "6")
	state.Set(1, "minor", "0")
	got := sample(t, open(t, state)).GPUs
	if got[0].Minor != 6 || got[1].Minor != 0 || got[0].Index != 0 || got[1].UUID != state.UUID(1) {
		t.Errorf("%+v", got)
	}
}

func TestC82_NoUtilisationInMIGMode(t *testing.T) {
	state := fakenvml.Build(t).State(t, 1, fakenvml.A100)
	state.SetMIG(0, "mode 1 1", "gi 2 9 4 4", "ci 2 0 2 0 3", "gi 1 9 0 4", "ci 1 0 0 0 1", "ci 1 1 0 1 1")
	state.Process(0, os.Getpid(), 3<<30, 2, 0)
	g := sample(t, open(t, state)).GPUs[0]
	if g.Util.Quality != fleet.NotApplicable || g.Util.Why != "MIG" {
		t.Errorf("utilisation %+v", g.Util)
	}
	if c := checkOf(t, &g, fleet.CheckRowRemap); c.Result != fleet.CheckNotApplicable {
		t.Errorf("%+v", c)
	}
	m := g.MIG
	if m.Current != fleet.MIGEnabled || m.Pending != fleet.MIGEnabled || m.Slices != 8 || len(m.Instances) != 2 {
		t.Fatalf("%+v", m)
	}
	first, second := m.Instances[0], m.Instances[1]
	if first.ID != 1 || first.Start != 0 || first.Size != 4 || first.Profile != "3g.40gb" || first.Compute != 3 || len(first.CIs) != 2 {
		t.Errorf("%+v", first)
	}
	if first.CIs[1].Profile != "1c.3g.40gb" || first.CIs[1].Start != 1 || first.CIs[1].UUID == "" || first.CIs[1].UUID == first.CIs[0].UUID {
		t.Errorf("%+v", first.CIs)
	}
	if second.Start != 4 || second.CIs[0].Profile != "3g.40gb" || second.UUID != second.CIs[0].UUID ||
		second.MemUsed != fleet.Read(3<<30) || first.MemUsed != fleet.Read(0) || second.Bytes != 40192<<20 {
		t.Errorf("%+v", second)
	}
	if p := g.Processes[0]; p.Instance != 2 {
		t.Errorf("process %+v", p)
	}
}

// The profile follows from the driver's placement, not from a name that someone else
// gave the device.
func TestC84_ProfileComesFromPlacement(t *testing.T) {
	state := fakenvml.Build(t).State(t, 2, fakenvml.A100, fakenvml.A30)
	state.SetMIG(0, "mode 1 1", "gi 3 14 0 2")
	state.SetMIG(1, "mode 1 1", "gi 3 14 0 1")
	got := sample(t, open(t, state)).GPUs
	for i, want := range []string{"2g.20gb", "1g.6gb"} {
		if in := got[i].MIG.Instances; len(in) != 1 || in[0].Profile != want || in[0].UUID != "" {
			t.Errorf("id 14 on device %d: %+v, want %s", i, in, want)
		}
	}
}

func TestOldLibrary(t *testing.T) {
	state := fakenvml.BuildOld(t).State(t, 2, fakenvml.H100)
	s := open(t, state)
	g := sample(t, s).GPUs[0]
	if g.Health.State != fleet.GPUAnswers || g.Temp != fleet.Read(40) || g.MemTotal != fleet.Read(81559<<20) || g.Util != fleet.Read(0) {
		t.Errorf("%+v", g)
	}
	if g.MIG.Current != fleet.MIGUnsupported {
		t.Errorf("MIG %+v", g.MIG)
	}
	for _, name := range []string{fleet.FaultRecovery, fleet.CheckRowRemap, fleet.CheckFabric} {
		if c := checkOf(t, &g, name); c.Result != fleet.CheckNotApplicable {
			t.Errorf("%+v", c)
		}
	}
	if err := s.MIG(g.UUID).SetMode(t.Context(), true); !errors.Is(err, agent.ErrOldDriver) || !strings.Contains(err.Error(), "nvmlDeviceSetMigMode") {
		t.Errorf("set the mode: %v", err)
	}
	if _, err := s.MIG(g.UUID).CreateInstance(t.Context(), 19, 0, 1); err == nil {
		t.Error("an instance was made by a driver that has none")
	}
	sample(t, s) // it lives
}

func TestNoLibrary(t *testing.T) {
	for name, path := range map[string]string{
		"nothing there": filepath.Join(t.TempDir(), "libnvidia-ml.so.1"),
		"not a library": must(t, os.Executable),
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, fakenvml.Build(t).State(t, 1), func(o *Options) { o.Library = path })
			if _, err := s.Sample(t.Context()); !errors.Is(err, agent.ErrNoDriver) {
				t.Errorf("%v", err)
			}
			if _, err := s.Events(t.Context()); !errors.Is(err, agent.ErrNoDriver) {
				t.Errorf("events: %v", err)
			}
		})
	}
}

// A library of another kind must not end the process.
func TestLibraryOfAnotherKind(t *testing.T) {
	var libc string
	for _, p := range []string{"/lib/x86_64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6", "/lib64/libm.so.6"} {
		if _, err := os.Stat(p); err == nil {
			libc = p
		}
	}
	if libc == "" {
		t.Skip("no libm at a place where it is looked for")
	}
	s := open(t, fakenvml.Build(t).State(t, 1), func(o *Options) { o.Library = libc })
	if _, err := s.Sample(t.Context()); !errors.Is(err, agent.ErrNoDriver) || !strings.Contains(err.Error(), "not NVIDIA's") {
		t.Errorf("%v", err)
	}
}

func TestDriverNotLoadedThenLoaded(t *testing.T) {
	state := fakenvml.Build(t).State(t, 1)
	state.SetDriver("loaded", "0")
	s := open(t, state)
	if _, err := s.Sample(t.Context()); !errors.Is(err, agent.ErrNoDriver) || !strings.Contains(err.Error(), "not loaded") {
		t.Errorf("%v", err)
	}
	state.SetDriver("loaded", "1")
	if got := sample(t, s); len(got.GPUs) != 1 {
		t.Errorf("%+v", got)
	}
}

func must[T any](t testing.TB, f func() (T, error)) T {
	t.Helper()
	v, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
