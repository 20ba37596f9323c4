package mig_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/mig/migtest"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

const uuid = "GPU-11111111-2222-3333-4444-555555555555"

var errBroken = errors.New("unknown error")

func engine(t testing.TB) *mig.Engine {
	t.Helper()
	return mig.NewEngine(mig.Options{Dir: t.TempDir(), BootID: "boot-1"})
}

// apply plans and applies, as the agent does for a request.
func apply(t testing.TB, e *mig.Engine, d *migtest.Device, layout string) (wire.MIGPlan, error) {
	t.Helper()
	p, err := e.Plan(t.Context(), d, nil, wire.MIGArgs{UUID: uuid, Layout: layout})
	if err != nil {
		return p, err
	}
	return p, e.Apply(t.Context(), d, p, nil)
}

// device is a device that has the layout.
func device(t testing.TB, b migtest.Board, layout string) *migtest.Device {
	t.Helper()
	d := migtest.New(b, fleet.MIGEnabled)
	if err := d.Set(layout); err != nil {
		t.Fatalf("%s: %s: %v", b.Name, layout, err)
	}
	return d
}

func layoutNow(d *migtest.Device) string { return mig.Describe(d.Now()) }

func count(calls []string, prefix string) int {
	n := 0
	for _, c := range calls {
		if strings.HasPrefix(c, prefix+" ") {
			n++
		}
	}
	return n
}

// TestEveryLayoutFromEveryOther applies every maximal layout of each board from every
// other, and counts that nothing was destroyed that could stay.
func TestEveryLayoutFromEveryOther(t *testing.T) {
	e := engine(t)
	for _, b := range boards() {
		use := plain
		if b.Name == "A30" {
			use = anyProfile
		}
		tops := maximal(b, every(b, use), use)
		for _, from := range tops {
			for _, to := range tops {
				d := device(t, b, text(from))
				d.Forget()
				p, err := apply(t, e, d, text(to))
				if err != nil {
					t.Fatalf("%s: from %s to %s: %v", b.Name, text(from), text(to), err)
				}
				if got, want := layoutNow(d), mig.Describe(stateOf(t, b, text(to))); got != want {
					t.Fatalf("%s: from %s: it is %s, want %s", b.Name, text(from), got, want)
				}
				kept := mostKept(from, [][]spot{to})
				if n := count(d.Calls(), "destroy"); n != len(from)-kept || n != len(p.Destroy) {
					t.Fatalf("%s: from %s to %s: %d destroyed, plan says %d, %d could stay", b.Name, text(from), text(to), n, len(p.Destroy), kept)
				}
			}
		}
	}
}

// TestFaultAtEachCall fails each single call of an apply, before or after it took
// effect, once or from then on, and looks at what is left.
func TestFaultAtEachCall(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"3g.40gb@0,2g.20gb@4,1g.10gb@6", "4g.40gb@0,2g.20gb@4,1g.10gb@6"},
		{"7g.80gb@0", "1g.10gb:7"},
		{"3g.40gb@0,3g.40gb@4", "off"},
		{"off", "3g.40gb,2g.20gb,1g.10gb"},
		{"2g.20gb@0,2g.20gb@2,2g.20gb@4,1g.10gb@6", "3g.40gb,1g.20gb:2"},
	} {
		clean := device(t, migtest.A10080(), c.from)
		if _, err := apply(t, engine(t), clean, c.to); err != nil {
			t.Fatal(err)
		}
		calls := clean.Calls()
		for n := range calls {
			for _, mode := range []string{"once", "for good", "writes for good", "late"} {
				t.Run(fmt.Sprintf("%s to %s, call %d (%s) %s", c.from, c.to, n+1, calls[n], mode), func(t *testing.T) {
					faultAt(t, c.from, c.to, n+1, mode, layoutNow(clean))
				})
			}
		}
	}
}

func faultAt(t *testing.T, from, to string, at int, mode, wanted string) {
	d := device(t, migtest.A10080(), from)
	before := layoutNow(d)
	fault := func(n int, call string) error {
		reads := call == "state" || call == "profiles" || call == "processes"
		if n == at || n > at && (mode == "for good" || mode == "writes for good" && !reads) {
			return errBroken
		}
		return nil
	}
	if mode == "late" {
		d.Late = fault
	} else {
		d.Fault = fault
	}
	_, err := apply(t, engine(t), d, to)
	var f *mig.Failure
	switch {
	case err == nil:
		if layoutNow(d) != wanted {
			t.Fatalf("success, and it is %s, not %s", layoutNow(d), wanted)
		}
	case !errors.As(err, &f):
		t.Fatalf("%v is no Failure", err)
	case f.Code == wire.CodeLeft:
		truth := d.Now()
		if f.Unread && f.Left.Current == fleet.MIGUnknown && truth.Pending == f.Left.Pending {
			truth.Current = fleet.MIGUnknown // it says so: set, and not read back
		}
		got := mig.Describe(f.Left)
		if got != mig.Describe(truth) || !strings.Contains(f.Text, got) || !strings.Contains(f.Text, before) {
			t.Fatalf("it says that %s is left\nin truth %s\ntext: %s", got, layoutNow(d), f.Text)
		}
		if mode == "once" || mode == "late" {
			t.Fatalf("one failure was not rolled back: %s", f.Text)
		}
	case layoutNow(d) != before:
		t.Fatalf("%s: it is %s, was %s", f.Code, layoutNow(d), before)
	}
}

// TestTwoFaults fails every pair of calls.
func TestTwoFaults(t *testing.T) {
	const from, to = "3g.40gb@0,2g.20gb@4,1g.10gb@6", "4g.40gb@0,1g.20gb@4,1g.10gb@6"
	e := engine(t)
	for first := 1; first < 25; first++ {
		for second := first + 1; second < 45; second++ {
			d := device(t, migtest.A10080(), from)
			before := layoutNow(d)
			d.Fault = func(n int, _ string) error {
				if n == first || n == second {
					return errBroken
				}
				return nil
			}
			_, err := apply(t, e, d, to)
			var f *mig.Failure
			if !errors.As(err, &f) {
				continue
			}
			if f.Code != wire.CodeLeft && layoutNow(d) != before {
				t.Fatalf("%d and %d: %s: it is %s, was %s", first, second, f.Code, layoutNow(d), before)
			}
			if f.Code == wire.CodeLeft && mig.Describe(f.Left) != layoutNow(d) {
				t.Fatalf("%d and %d: it says %s, in truth %s", first, second, mig.Describe(f.Left), layoutNow(d))
			}
		}
	}
}

func TestNothingIsWrittenForAnInvalidLayout(t *testing.T) {
	for _, layout := range []string{"3g.40gb:3", "nonsense", "1g.5gb", "4g.40gb,2g.20gb:2", "3g.40gb@2", ""} {
		for _, from := range []string{"3g.40gb@0", "off"} {
			d := device(t, migtest.A10080(), from)
			d.Forget()
			_, err := apply(t, engine(t), d, layout)
			if mig.CodeOf(err) != wire.CodeRefused {
				t.Errorf("%q: %v", layout, err)
			}
			for _, call := range d.Calls() {
				if call != "state" && call != "profiles" && call != "processes" {
					t.Errorf("%q: %s was called", layout, call)
				}
			}
		}
	}
}

func TestApplyRefusesWhatIsInUse(t *testing.T) {
	d := device(t, migtest.A10080(), "3g.40gb@0,3g.40gb@4")
	alice := fleet.GPUProcess{PID: 4711, Name: "python", Instance: 1}
	d.Use(alice)
	alice.Owner = fleet.Owner{Job: fleet.JobKey{ID: "12"}, User: "alice"}
	gpu := &fleet.GPU{UUID: uuid, Processes: []fleet.GPUProcess{alice}}
	e, before := engine(t), layoutNow(d)
	p, err := e.Plan(t.Context(), d, gpu, wire.MIGArgs{UUID: uuid, Layout: "7g.80gb"})
	if err != nil {
		t.Fatal(err)
	}
	err = e.Apply(t.Context(), d, p, nil)
	if mig.CodeOf(err) != wire.CodeRefused || !strings.Contains(err.Error(), "pid 4711 (python) of job 12, user alice, holds 3g.40gb@0") {
		t.Errorf("%v", err)
	}
	// Force never ends a process: the driver refuses, and what was is restored.
	p, err = e.Plan(t.Context(), d, gpu, wire.MIGArgs{UUID: uuid, Layout: "7g.80gb", Force: true})
	if err != nil || len(p.Blockers) > 0 || !strings.Contains(p.Warnings[0], "4711") {
		t.Fatalf("%v %+v", err, p)
	}
	err = e.Apply(t.Context(), d, p, nil)
	if mig.CodeOf(err) != wire.CodeFailed || layoutNow(d) != before || !strings.Contains(err.Error(), "pid 4711 python holds it") {
		t.Errorf("%v, it is %s", err, layoutNow(d))
	}
	// A process that came after the plan.
	d.Use()
	p, _ = e.Plan(t.Context(), d, nil, wire.MIGArgs{UUID: uuid, Layout: "7g.80gb"})
	d.Use(alice)
	if err = e.Apply(t.Context(), d, p, nil); mig.CodeOf(err) != wire.CodeRefused || !strings.Contains(err.Error(), "since the plan") {
		t.Error(err)
	}
}

func TestApplyRefusesADeviceThatChanged(t *testing.T) {
	d := device(t, migtest.A10080(), "3g.40gb@0")
	e := engine(t)
	p, err := e.Plan(t.Context(), d, nil, wire.MIGArgs{UUID: uuid, Layout: "7g.80gb"})
	if err != nil {
		t.Fatal(err)
	}
	_ = d.Set("1g.10gb@0")
	if err := e.Apply(t.Context(), d, p, nil); mig.CodeOf(err) != wire.CodeRefused || !strings.Contains(err.Error(), "it was MIG enabled: 3g.40gb@0, it is MIG enabled: 1g.10gb@0") {
		t.Error(err)
	}
}

func TestObstacles(t *testing.T) {
	for _, g := range []fleet.GPU{
		{Health: fleet.GPUHealth{State: fleet.GPULost, Why: "GPU is lost"}},
		{Health: fleet.GPUHealth{State: fleet.GPUHanging}},
		{Faults: []fleet.Fault{{Kind: "recovery-action", Text: "Reset"}}},
	} {
		d := device(t, migtest.A10080(), "on")
		e := engine(t)
		p, err := e.Plan(t.Context(), d, &g, wire.MIGArgs{UUID: uuid, Layout: "7g.80gb"})
		if err != nil || len(p.Blockers) != 1 || mig.CodeOf(e.Apply(t.Context(), d, p, nil)) != wire.CodeRefused {
			t.Errorf("%+v: %v %q", g, err, p.Blockers)
		}
	}
}

// A mode that the driver only takes as pending is never success (mig-parted#18).
func TestC92_ModeOnlyPending(t *testing.T) {
	d := migtest.New(migtest.A10080(), fleet.MIGDisabled)
	d.NeedsReset = true
	e := engine(t)
	_, err := apply(t, e, d, "7g.80gb")
	if mig.CodeOf(err) != wire.CodeLeft || !strings.Contains(err.Error(), "MIG disabled (pending enabled: needs a reset or a reboot)") {
		t.Fatal(err)
	}
	if _, err = apply(t, e, d, "7g.80gb"); mig.CodeOf(err) != wire.CodeRefused || !strings.Contains(err.Error(), "pending") {
		t.Error(err)
	}
	d.Reset()
	if _, err = apply(t, e, d, "7g.80gb"); err != nil || layoutNow(d) != "MIG enabled: 7g.80gb@0" {
		t.Error(err, layoutNow(d))
	}
}

// The driver says "in use" and nobody is to be seen (mig-parted#181).
func TestC90_InUseByNobodyVisible(t *testing.T) {
	d := device(t, migtest.A10080(), "3g.40gb@0,3g.40gb@4")
	d.Held = []int{2}
	before := layoutNow(d)
	_, err := apply(t, engine(t), d, "7g.80gb")
	if mig.CodeOf(err) != wire.CodeFailed || !errors.Is(err, mig.ErrInUse) || layoutNow(d) != before {
		t.Fatalf("%v, %s", err, layoutNow(d))
	}
	for _, word := range []string{"no process is visible", "nvidia-persistenced", "nv-hostengine", "nvidia_drm", "reset the GPU or reboot"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in: %v", word, err)
		}
	}
}

// A rollback restores instances that were cut into smaller compute instances.
func TestRollbackRestoresCuts(t *testing.T) {
	d := device(t, migtest.A10080(), "3g.40gb@0,3g.40gb@4")
	if err := d.Cut(1, 1, 2); err != nil {
		t.Fatal(err)
	}
	d.Held = []int{2}
	before := layoutNow(d)
	_, err := apply(t, engine(t), d, "7g.80gb")
	if mig.CodeOf(err) != wire.CodeFailed || layoutNow(d) != before || !strings.Contains(before, "cut into 1c+2c") {
		t.Errorf("%v\nit is %s, was %s", err, layoutNow(d), before)
	}
}

func TestOneChangeAtATime(t *testing.T) {
	e := engine(t)
	d := device(t, migtest.A10080(), "3g.40gb@0")
	p, err := e.Plan(t.Context(), d, nil, wire.MIGArgs{UUID: uuid, Layout: "7g.80gb"})
	if err != nil {
		t.Fatal(err)
	}
	d.Fault = func(_ int, call string) error {
		if strings.HasPrefix(call, "create ") {
			d.Fault = nil
			if err := e.Apply(context.Background(), d, p, nil); mig.CodeOf(err) != wire.CodeBusy {
				t.Errorf("%v", err)
			}
			if out := e.Recover(context.Background(), func(string) mig.Device { return d }); len(out) != 0 {
				t.Errorf("a change under way was recovered: %v", out)
			}
		}
		return nil
	}
	if err := e.Apply(t.Context(), d, p, nil); err != nil {
		t.Error(err)
	}
}

func TestApplyWithoutAStateFolder(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file + "/below"} {
		e := mig.NewEngine(mig.Options{Dir: dir})
		d := device(t, migtest.A10080(), "3g.40gb@0")
		d.Forget()
		_, err := apply(t, e, d, "7g.80gb")
		if mig.CodeOf(err) != wire.CodeRefused || !strings.Contains(err.Error(), "written down") || count(d.Calls(), "destroy") > 0 {
			t.Errorf("%q: %v", dir, err)
		}
	}
	d := device(t, migtest.A10080(), "on")
	if err := engine(t).Apply(t.Context(), d, wire.MIGPlan{UUID: "../../etc/passwd"}, nil); mig.CodeOf(err) != wire.CodeRefused {
		t.Error(err)
	}
}

// TestKilledInTheMiddle stops an apply dead at each call, and starts the next agent.
func TestKilledInTheMiddle(t *testing.T) {
	const from, to = "3g.40gb@0,2g.20gb@4,1g.10gb@6", "4g.40gb@0,2g.20gb@4,1g.10gb@6"
	clean := device(t, migtest.A10080(), from)
	if _, err := apply(t, engine(t), clean, to); err != nil {
		t.Fatal(err)
	}
	repaired := 0
	for n := range clean.Calls() {
		e := engine(t)
		d := device(t, migtest.A10080(), from)
		before := layoutNow(d)
		killAt(t, e, d, to, n+1)
		out := e.Recover(t.Context(), func(string) mig.Device { return d })
		if now := layoutNow(d); now != before && now != layoutNow(clean) {
			t.Fatalf("killed at call %d: it is %s", n+1, now)
		}
		if len(out) > 0 {
			repaired++
			if out[0].Code != "" || !strings.Contains(out[0].Text, layoutNow(d)) || !strings.Contains(out[0].Text, "interrupted") {
				t.Errorf("killed at call %d: %+v", n+1, out[0])
			}
		}
		if again := e.Recover(t.Context(), func(string) mig.Device { return d }); len(again) != 0 {
			t.Errorf("reported twice: %v", again)
		}
	}
	if repaired < 6 {
		t.Errorf("only %d kills left something to report", repaired)
	}
}

// killAt ends the apply's goroutine in the call, as a kill ends a process: nothing
// after it happens, and locks go.
func killAt(t *testing.T, e *mig.Engine, d *migtest.Device, to string, at int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Fault = func(n int, _ string) error {
			if n == at {
				panic("killed")
			}
			return nil
		}
		defer func() { _ = recover() }()
		_, _ = apply(t, e, d, to)
	}()
	<-done
	d.Fault = nil
}

func TestRecoverReportsWhatItCannotRepair(t *testing.T) {
	const from, to = "3g.40gb@0,2g.20gb@4", "4g.40gb@0,2g.20gb@4"
	dir := t.TempDir()
	e := mig.NewEngine(mig.Options{Dir: dir, BootID: "boot-1"})
	d := device(t, migtest.A10080(), from)
	creates := slices.IndexFunc(callsOf(t, from, to), func(c string) bool { return strings.HasPrefix(c, "create ") })
	killAt(t, e, d, to, creates+1)

	// The device does not answer: the entry stays for the next start.
	d.Fault = func(int, string) error { return errBroken }
	out := e.Recover(t.Context(), func(string) mig.Device { return d })
	if len(out) != 1 || out[0].Code != wire.CodeLeft || !strings.Contains(out[0].Text, "cannot be read now") {
		t.Fatalf("%+v", out)
	}
	// The host was restarted: instances are gone whatever was done.
	d.Fault = nil
	rebooted := mig.NewEngine(mig.Options{Dir: dir, BootID: "boot-2"})
	out = rebooted.Recover(t.Context(), func(string) mig.Device { return d })
	if len(out) != 1 || out[0].Code != wire.CodeLeft || !strings.Contains(out[0].Text, "restart of the host") || !strings.Contains(out[0].Text, "before, it was MIG enabled: 3g.40gb@0, 2g.20gb@4") {
		t.Fatalf("%+v", out)
	}
	if err := os.WriteFile(dir+"/mig-"+uuid+".json", []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out = e.Recover(t.Context(), func(string) mig.Device { return d }); len(out) != 1 || out[0].Code != wire.CodeLeft {
		t.Errorf("%+v", out)
	}
}

func callsOf(t *testing.T, from, to string) []string {
	d := device(t, migtest.A10080(), from)
	if _, err := apply(t, engine(t), d, to); err != nil {
		t.Fatal(err)
	}
	return d.Calls()
}
