// Package repartition tests changes of MIG layouts on the real go-nvml: its dlopen, its
// calls, and a stand-in for the driver's library that keeps partitions in files.
package repartition

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/nvml"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/test/fakenvml"
)

// applyArg makes the test binary an agent that applies one layout and is killed.
const applyArg = "__apply"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == nvml.ChildArg:
		if err := nvml.Serve(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) == 5 && os.Args[1] == applyArg:
		applyAndExit(os.Args[2], os.Args[3], os.Args[4])
	default:
		os.Exit(m.Run())
	}
}

// rig is one device behind the real bindings, and an engine.
type rig struct {
	state  *fakenvml.State
	driver *nvml.Supervised
	engine *mig.Engine
	dir    string // of the engine's journal
}

func newRig(t *testing.T, board fakenvml.Board) *rig {
	t.Helper()
	r := &rig{state: fakenvml.Build(t).State(t, 1, board), dir: t.TempDir()}
	var err error
	if r.driver, err = nvml.New(nvml.Options{Env: r.state.Env(), Deadline: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.driver.Close(); err != nil {
			t.Error(err)
		}
	})
	r.engine = mig.NewEngine(mig.Options{Dir: r.dir, BootID: "boot"})
	return r
}

func (r *rig) apply(t *testing.T, layout string) (wire.MIGPlan, error) {
	t.Helper()
	uuid := r.state.UUID(0)
	d := r.driver.MIG(uuid)
	p, err := r.engine.Plan(t.Context(), d, nil, wire.MIGArgs{UUID: uuid, Layout: layout})
	if err != nil {
		return p, err
	}
	return p, r.engine.Apply(t.Context(), d, p, nil)
}

// must applies a layout without faults.
func (r *rig) must(t *testing.T, layout string) wire.MIGPlan {
	t.Helper()
	r.state.Fault()
	p, err := r.apply(t, layout)
	if err != nil {
		t.Fatalf("%s: %v", layout, err)
	}
	return p
}

// truth is what the library's files say, without a call.
func (r *rig) truth() string { return strings.Join(r.state.MIG(0), "\n") }

// maximal lists the layouts that nothing fits beside, of profiles with as many memory
// slices as NVIDIA's diagrams show them with.
func maximal(profiles []mig.Profile) []string {
	type spot struct {
		p     *mig.Profile
		start int
	}
	var all []spot
	memory, compute := 0, 0
	for i := range profiles {
		p := &profiles[i]
		compute = max(compute, p.Compute)
		for _, at := range p.Placements {
			memory = max(memory, at.Start+at.Size)
			if !p.Media && (p.Compute > 1 || p.Memory == 1) {
				all = append(all, spot{p, at.Start})
			}
		}
	}
	fits := func(have []spot, x spot) bool {
		sum := x.p.Compute
		for _, h := range have {
			sum += h.p.Compute
			if h.start < x.start+x.p.Memory && x.start < h.start+h.p.Memory {
				return false
			}
		}
		return sum <= compute
	}
	var out []string
	var grow func(from int, now []spot)
	grow = func(from int, now []spot) {
		if !slices.ContainsFunc(all, func(x spot) bool { return fits(now, x) }) {
			var parts []string
			for _, s := range now {
				parts = append(parts, fmt.Sprintf("%s@%d", s.p.Name, s.start))
			}
			out = append(out, strings.Join(parts, ","))
			return
		}
		for i := from; i < len(all); i++ {
			if fits(now, all[i]) {
				grow(i+1, append(slices.Clone(now), all[i]))
			}
		}
	}
	grow(0, nil)
	return out
}

// TestEveryLayoutFromEveryOther walks every ordered pair of maximal layouts.
func TestEveryLayoutFromEveryOther(t *testing.T) {
	for board, want := range map[fakenvml.Board]int{fakenvml.A100: 19, fakenvml.A30: 5} {
		r := newRig(t, board)
		profiles, err := r.driver.MIG(r.state.UUID(0)).Profiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tops := maximal(profiles)
		if len(tops) != want {
			t.Fatalf("%s has %d maximal layouts, want %d: %q", board, len(tops), want, tops)
		}
		for i, one := range tops {
			r.must(t, one)
			for _, other := range tops[i+1:] {
				r.walk(t, one, other)
				r.walk(t, other, one)
			}
		}
	}
}

// walk applies a layout on a device that has another, and looks into the library's
// files.
func (r *rig) walk(t *testing.T, from, to string) {
	t.Helper()
	before := r.state.MIG(0)
	p := r.must(t, to)
	have, want := strings.Split(from, ","), strings.Split(to, ",")
	gone := slices.DeleteFunc(have, func(i string) bool { return slices.Contains(want, i) })
	if len(p.Destroy) != len(gone) {
		t.Fatalf("from %s to %s: %d destroyed, %d must go", from, to, len(p.Destroy), len(gone))
	}
	gis := 0
	for _, line := range r.state.MIG(0) {
		if strings.HasPrefix(line, "gi ") {
			gis++
		}
	}
	if gis != len(want) {
		t.Fatalf("from %s to %s: the library has %q", from, to, r.state.MIG(0))
	}
	for _, k := range p.Keep {
		id := fmt.Sprintf("gi %d ", k.ID)
		same := func(lines []string) string {
			return lines[slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, id) })]
		}
		if same(before) != same(r.state.MIG(0)) {
			t.Fatalf("from %s to %s: %s was to stay", from, to, id)
		}
	}
}

// TestFaultAtEachNVMLCall fails each call of the library that an apply makes, one at a
// time, until an apply goes through without meeting the fault.
func TestFaultAtEachNVMLCall(t *testing.T) {
	const from, to = "3g.40gb@0,2g.20gb@4,1g.10gb@6", "4g.40gb@0,2g.20gb@4,1g.10gb@6"
	r := newRig(t, fakenvml.A100)
	r.must(t, to)
	wanted := r.truth()
	failed, refused, last := 0, 0, 0
	for n := 1; ; n++ {
		r.must(t, from)
		before := r.truth()
		if err := r.driver.Release(t.Context()); err != nil { // nothing is known from before
			t.Fatal(err)
		}
		r.state.Fault(fmt.Sprintf("* 0 unknown %d", n))
		_, err := r.apply(t, to)
		switch code := mig.CodeOf(err); {
		case err == nil && r.truth() != wanted:
			t.Fatalf("call %d: success, and the library has\n%s", n, r.truth())
		case err == nil && n > last+100:
			t.Logf("%d calls: %d failures were refused before a change, %d restored", last, refused, failed)
			if failed == 0 || refused == 0 {
				t.Error("the faults hit nothing")
			}
			return
		case err == nil:
		case code == wire.CodeLeft || r.truth() != before:
			t.Fatalf("call %d: %v\nthe library has\n%s\nbefore\n%s", n, err, r.truth(), before)
		case code == wire.CodeFailed:
			failed, last = failed+1, n
		default:
			refused, last = refused+1, n
		}
	}
}

// TestWhatIsLeftIsSaidExactly lets the way back fail too.
func TestWhatIsLeftIsSaidExactly(t *testing.T) {
	const from, to = "3g.40gb@0,2g.20gb@4,1g.10gb@6", "7g.80gb"
	writes := []string{
		"nvmlGpuInstanceDestroy", "nvmlComputeInstanceDestroy",
		"nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceCreateComputeInstance",
	}
	r := newRig(t, fakenvml.A100)
	for _, one := range writes {
		for _, other := range writes {
			r.must(t, from)
			before := r.truth()
			r.state.Fault(one+" 0 unknown", other+" 0 unknown")
			_, err := r.apply(t, to)
			r.state.Fault()
			now, rerr := r.driver.MIG(r.state.UUID(0)).State(t.Context())
			if rerr != nil {
				t.Fatal(rerr)
			}
			var f *mig.Failure
			switch {
			case !errors.As(err, &f):
				t.Fatalf("%s and %s: %v", one, other, err)
			case f.Code == wire.CodeFailed && r.truth() != before:
				t.Fatalf("%s and %s: not restored: %v\n%s", one, other, err, r.truth())
			case f.Code == wire.CodeLeft && !strings.Contains(f.Text, mig.Describe(now)):
				t.Fatalf("%s and %s: %v\nin truth: %s", one, other, err, mig.Describe(now))
			}
		}
	}
}

func TestInUse(t *testing.T) {
	r := newRig(t, fakenvml.A100)
	r.must(t, "3g.40gb@0,3g.40gb@4")
	before := r.truth()
	r.state.Process(0, os.Getpid(), 1<<30, 2, 0)
	_, err := r.apply(t, "3g.40gb@0,1g.10gb@4")
	if mig.CodeOf(err) != wire.CodeRefused || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) || !strings.Contains(err.Error(), "3g.40gb@4") {
		t.Error(err)
	}
	if _, err := r.apply(t, "1g.10gb@0,3g.40gb@4"); err != nil {
		t.Errorf("the free half may change: %v", err)
	}
	r.state.EndProcess(0, os.Getpid())
	r.must(t, "3g.40gb@0,3g.40gb@4")
	r.state.Fault("nvmlGpuInstanceDestroy 0 in_use")
	_, err = r.apply(t, "7g.80gb")
	if mig.CodeOf(err) != wire.CodeFailed || !errors.Is(err, mig.ErrInUse) || !strings.Contains(err.Error(), "nv-hostengine") || r.truth() != before {
		t.Errorf("%v\n%s", err, r.truth())
	}
}

func TestC92_PendingThroughTheRealCalls(t *testing.T) {
	r := newRig(t, fakenvml.A100)
	r.state.Set(0, "mig_activation", "reset_required")
	_, err := r.apply(t, "7g.80gb")
	if mig.CodeOf(err) != wire.CodeLeft || !strings.Contains(err.Error(), "pending enabled: needs a reset or a reboot") {
		t.Error(err)
	}
}

func TestEachBoard(t *testing.T) {
	for board, layout := range map[fakenvml.Board]string{
		fakenvml.A100x40: "3g.20gb,2g.10gb,1g.5gb:2", fakenvml.H100: "1g.10gb:6,1g.10gb+me",
		fakenvml.H200: "3g.71gb,1g.35gb:2", fakenvml.B200: "4g.90gb,3g.90gb", fakenvml.H100NVL: "2g.24gb:3,1g.12gb",
	} {
		r := newRig(t, board)
		if p, err := r.apply(t, layout); err != nil || p.Mode != fleet.MIGEnabled {
			t.Errorf("%s: %s: %v", board, layout, err)
		}
	}
	if _, err := newRig(t, fakenvml.T4).apply(t, "on"); !errors.Is(err, mig.ErrLayout) {
		t.Errorf("T4: %v", err)
	}
}

// applyAndExit is an agent that applies a layout.
func applyAndExit(dir, uuid, layout string) {
	s, err := nvml.New(nvml.Options{Deadline: 10 * time.Second})
	if err == nil {
		e := mig.NewEngine(mig.Options{Dir: dir, BootID: "boot"})
		ctx, d := context.Background(), s.MIG(uuid)
		var p wire.MIGPlan
		if p, err = e.Plan(ctx, d, nil, wire.MIGArgs{UUID: uuid, Layout: layout}); err == nil {
			err = e.Apply(ctx, d, p, func(text string) { fmt.Println(text) })
		}
	}
	fmt.Println(err)
}

// TestKilledAgent kills an agent in the middle of an apply with SIGKILL: the next one
// repairs the device.
func TestKilledAgent(t *testing.T) {
	const from, to = "3g.40gb@0,2g.20gb@4,1g.10gb@6", "4g.40gb@0,2g.20gb@4,1g.10gb@6"
	for _, call := range []string{"nvmlGpuInstanceDestroy", "nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceCreateComputeInstance"} {
		r := newRig(t, fakenvml.A100)
		r.must(t, from)
		before := r.truth()
		if err := r.driver.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.state.Fault(call + " 0 hang")
		r.kill(t, to)
		r.state.Fault()
		if r.truth() == before {
			t.Fatalf("%s: it was killed before it did anything", call)
		}
		out := r.engine.Recover(t.Context(), r.driver.MIG)
		if len(out) != 1 || out[0].Code != "" || r.truth() != before {
			t.Errorf("%s: %+v\n%s", call, out, r.truth())
		}
	}
}

// kill starts an agent and kills it once the library has changed and stands still.
func (r *rig) kill(t *testing.T, layout string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], applyArg, r.dir, r.state.UUID(0), layout)
	cmd.Env = append(os.Environ(), r.state.Env()...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	before := r.truth()
	for range 2000 {
		if r.truth() != before {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	last := ""
	for last != r.truth() {
		last = r.truth()
		time.Sleep(200 * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	_ = cmd.Wait()
}
