package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/agenttest"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

const step = "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"

// running runs a sampler of the node in a bubble of fake time, and ends it.
func running(t *testing.T, n *agenttest.Node, use func(t *testing.T, s *agent.Sampler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := agent.New(n.Options())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		settle(1500 * time.Millisecond)
		use(t, s)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		settle(10 * time.Second) // what Run started must end
	})
}

func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func openFaults(list []fleet.Fault) []fleet.Fault {
	return slices.DeleteFunc(slices.Clone(list), func(f fleet.Fault) bool { return !f.IsOpen() })
}

func codes(list []fleet.Fault) []int {
	var out []int
	for _, f := range openFaults(list) {
		out = append(out, f.Code)
	}
	return out
}

func TestStateOfAHealthyNode(t *testing.T) {
	running(t, agenttest.NewNode(t, 8), func(t *testing.T, s *agent.Sampler) {
		st := s.Latest()
		if len(st.GPUs) != 8 || st.Node.Expected != 8 || st.Node.Present != 8 || st.Node.Host != "gn001" || st.Node.BootID != "boot-1" {
			t.Fatalf("%+v", st.Node)
		}
		if len(st.Node.Problems) > 0 || st.Node.Driver != "570.86.15" || s.Err() != nil {
			t.Errorf("%q %v", st.Node.Problems, s.Err())
		}
		for i, g := range st.GPUs {
			if g.UUID != agenttest.UUID(i) || g.Node != "gn001" || g.At.IsZero() || len(g.Faults)+len(g.Owners) > 0 {
				t.Errorf("%+v", g)
			}
		}
		for _, c := range st.Node.Checks {
			if c.Result != fleet.CheckOK && c.Result != fleet.CheckNotApplicable {
				t.Errorf("%+v", c)
			}
		}
	})
}

// TestXIDIsToldAtOnce appends a burst of four codes in one millisecond: all of them are
// published before the next round, with their process.
func TestXIDIsToldAtOnce(t *testing.T) {
	n := agenttest.NewNode(t, 2)
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		before := s.Latest()
		n.Log(
			agenttest.XID(1, 48, "pid=77, name=python3, DBE"), agenttest.XID(1, 63, "pid='<unknown>', name=<unknown>, remap"),
			agenttest.XID(1, 94, "pid=77, name=python3, Contained"), agenttest.XID(1, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"),
		)
		settle(200 * time.Millisecond)
		st := s.Latest()
		if took := st.At.Sub(before.At); took > 800*time.Millisecond {
			t.Errorf("%s", took)
		}
		if got := codes(st.GPUs[1].Faults); !slices.Equal(got, []int{48, 63, 94, 154, 1}) {
			t.Errorf("%v", got)
		}
		if f := st.GPUs[1].Faults[0]; f.PID != 77 || f.Process != "python3" || f.BootID != "boot-1" || f.Source != "kmsg" || f.PCI != agenttest.PCI(1) {
			t.Errorf("%+v", f)
		}
		if len(st.GPUs[0].Faults) > 0 {
			t.Errorf("the other device: %+v", st.GPUs[0].Faults)
		}
	})
}

func TestTwoSourcesTellOneFault(t *testing.T) {
	n := agenttest.NewNode(t, 1)
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		for range 3 {
			n.Log(agenttest.XID(0, 95, "pid='<unknown>', name=<unknown>, text"))
		}
		for range 2 { // the driver repeats one code for several
			n.Driver.Emit(agent.DriverEvent{UUID: agenttest.UUID(0), Kind: fleet.FaultXID, Code: 95, At: time.Now()})
		}
		settle(300 * time.Millisecond)
		f := s.Latest().GPUs[0].Faults
		if len(f) != 1 || f[0].Count != 3 || f[0].Source != "kmsg" || !strings.Contains(f[0].Text, "95") {
			t.Errorf("%+v", f)
		}
	})
}

func TestFaultsOfNoGPU(t *testing.T) {
	n := agenttest.NewNode(t, 1)
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		n.Log("nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 63 LTSSM Fault Up")
		settle(300 * time.Millisecond)
		if f := s.Latest().Node.Faults; len(f) != 1 || f[0].Kind != fleet.FaultSXID || f[0].PCI != "00000000:C4:00.0" {
			t.Errorf("%+v", f)
		}
	})
}

func TestC74_LostDeviceKeepsItsRow(t *testing.T) {
	n := agenttest.NewNode(t, 4)
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		n.Driver.Change(3, func(g *fleet.GPU) {
			g.Health = fleet.GPUHealth{State: fleet.GPULost, Since: time.Now(), Why: "GPU is lost"}
		})
		n.Driver.Drop(2)
		settle(time.Second)
		st := s.Latest()
		if len(st.GPUs) != 4 || st.Node.Present != 3 || st.Node.Expected != 4 {
			t.Fatalf("%d rows, %+v", len(st.GPUs), st.Node)
		}
		for i, want := range []fleet.GPUState{fleet.GPUAnswers, fleet.GPUAnswers, fleet.GPUMissing, fleet.GPULost} {
			if g := st.GPUs[i]; g.Health.State != want || g.UUID != agenttest.UUID(i) || g.PCI != agenttest.PCI(i) {
				t.Errorf("%d: %+v", i, g.Health)
			}
		}
	})
	running(t, n, func(t *testing.T, s *agent.Sampler) { // another agent remembers who it was
		if g := s.Latest().GPUs[2]; g.Health.State != fleet.GPUMissing || g.UUID != agenttest.UUID(2) || g.Model == "" {
			t.Errorf("%+v", g)
		}
	})
}

func TestC113_HangingDriverIsNamed(t *testing.T) {
	n := agenttest.NewNode(t, 2)
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		n.Driver.Stick(true)
		settle(8 * time.Second)
		st := s.Latest()
		if age := time.Since(st.At); age > 2*time.Second {
			t.Errorf("the last state is %s old", age)
		}
		if g := st.GPUs[0]; g.Health.State != fleet.GPUHanging || g.Health.Since.IsZero() || g.UUID == "" {
			t.Errorf("%+v", g.Health)
		}
		if !slices.ContainsFunc(st.Node.Problems, func(p string) bool { return strings.Contains(p, "reading the GPUs") }) {
			t.Errorf("%q", st.Node.Problems)
		}
		n.Log(agenttest.XID(0, 119, "pid='<unknown>', name=<unknown>, Timeout"))
		settle(300 * time.Millisecond)
		if got := codes(s.Latest().GPUs[0].Faults); !slices.Equal(got, []int{119}) {
			t.Errorf("%v", got)
		}
		n.Driver.Stick(false)
		settle(3 * time.Second)
		if st := s.Latest(); st.GPUs[0].Health.State != fleet.GPUAnswers || len(st.Node.Problems) > 0 {
			t.Errorf("%+v %q", st.GPUs[0].Health, st.Node.Problems)
		}
	})
}

func TestNoDriver(t *testing.T) {
	n := agenttest.NewNode(t, 2)
	n.Driver.Fail(agent.ErrNoDriver)
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		st := s.Latest()
		if !errors.Is(s.Err(), agent.ErrNoDriver) || len(st.GPUs) != 2 || st.Node.Present != 0 || st.Node.Checks[0].Result != fleet.CheckBad {
			t.Errorf("%v %+v", s.Err(), st)
		}
	})
}

func TestC77_FaultStaysUntilProvenGone(t *testing.T) {
	n := agenttest.NewNode(t, 1)
	n.Process(77, "python3", step)
	faultsNow := func(s *agent.Sampler) []int { return codes(s.Latest().GPUs[0].Faults) }
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		n.Log(agenttest.XID(0, 31, "pid=77, name=python3, MMU Fault"), agenttest.XID(0, 79, "pid=77, name=python3, GPU has fallen off the bus."))
		settle(5 * time.Second)
		if got := faultsNow(s); !slices.Equal(got, []int{31, 79}) {
			t.Errorf("%v", got)
		}
		n.Exit(77)
		settle(2 * time.Second)
		if got := faultsNow(s); !slices.Equal(got, []int{79}) { // the application's own fault went with it
			t.Errorf("after the process: %v", got)
		}
	})
	running(t, n, func(t *testing.T, s *agent.Sampler) { // a restart of the agent proves nothing
		if got := faultsNow(s); !slices.Equal(got, []int{79}) {
			t.Errorf("after a restart of the agent: %v", got)
		}
	})
	n.Boot("boot-2")
	n.Write("kmsg", "6,0,0,-;Linux version\n")
	n.Driver.Change(0, func(g *fleet.GPU) { g.Checks[0].Result = fleet.CheckBad })
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		if got := faultsNow(s); !slices.Equal(got, []int{79}) {
			t.Errorf("after a reboot, not well: %v", got)
		}
		n.Driver.Change(0, func(g *fleet.GPU) { g.Checks = slices.Clone(g.Checks); g.Checks[0].Result = fleet.CheckOK })
		settle(2 * time.Second)
		if got := faultsNow(s); len(got) > 0 {
			t.Errorf("after a reboot, well: %v", got)
		}
		f := s.Latest().GPUs[0].Faults
		if len(f) == 0 || !strings.Contains(f[len(f)-1].By, "restart of the machine") {
			t.Errorf("%+v", f)
		}
	})
}

func TestOwners(t *testing.T) {
	n := agenttest.NewNode(t, 2)
	n.Process(77, "python3", step)
	n.Process(78, "python3", step)
	n.Driver.Change(0, func(g *fleet.GPU) {
		g.Processes = []fleet.GPUProcess{{PID: 77, Instance: 5}, {PID: 78, Instance: -1}, {PID: 4242, Instance: -1}}
		g.MIG.Instances = []fleet.MIGInstance{{ID: 5}, {ID: 6}}
	})
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		g := s.Latest().GPUs[0]
		if len(g.Owners) != 2 || g.Owners[0].Job.ID != "4711" || !g.Owners[0].Proven || g.Owners[0].At.IsZero() {
			t.Fatalf("%+v", g.Owners)
		}
		if g.Owners[1].Job.ID != "" { // C83, C89: not known, and not free
			t.Errorf("%+v", g.Owners[1])
		}
		if in := g.MIG.Instances; len(in[0].Owners) != 1 || len(in[1].Owners) != 0 {
			t.Errorf("%+v", in)
		}
		if g.Processes[0].Owner.Job.ID != "4711" || g.Processes[2].Owner.Job.ID != "" {
			t.Errorf("%+v", g.Processes)
		}
		if len(s.Latest().GPUs[1].Owners) != 0 {
			t.Error("the idle device has an owner")
		}
	})
}

func TestExclusiveLetsGoOfTheDriver(t *testing.T) {
	n := agenttest.NewNode(t, 1)
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		done, err := s.Exclusive(t.Context(), "reset of GPU 0")
		if err != nil {
			t.Fatal(err)
		}
		settle(5 * time.Second)
		if n.Driver.Open() {
			t.Error("the driver is held")
		}
		st := s.Latest()
		if time.Since(st.At) > time.Second || len(st.Node.Problems) != 1 || !strings.Contains(st.Node.Problems[0], "reset of GPU 0") || st.GPUs[0].Health.State != fleet.GPUAnswers {
			t.Errorf("%s %q %+v", time.Since(st.At), st.Node.Problems, st.GPUs[0].Health)
		}
		done()
		settle(3 * time.Second)
		if st := s.Latest(); !n.Driver.Open() || len(st.Node.Problems) > 0 {
			t.Errorf("%v %q", n.Driver.Open(), st.Node.Problems)
		}
	})
}

func TestUnreadableKernelLogIsAProblem(t *testing.T) {
	n := agenttest.NewNode(t, 1)
	n.KernelLog = n.Root + "/none"
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		if p := s.Latest().Node.Problems; len(p) != 1 || !strings.Contains(p[0], "kernel log") {
			t.Errorf("%q", p)
		}
	})
}

func TestOldDriverIsRefused(t *testing.T) {
	n := agenttest.NewNode(t, 1)
	n.Driver.Version = "418.226.00"
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		if err := s.Err(); !errors.Is(err, agent.ErrOldDriver) || !strings.Contains(err.Error(), "418.226.00") {
			t.Error(err)
		}
	})
}
