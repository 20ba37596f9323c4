package slurm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// fakeRunner answers commands by their beginning, and remembers what was asked.
type fakeRunner struct {
	answers map[string]Output
	err     error

	mu    sync.Mutex
	asked [][]string
}

func (f *fakeRunner) Via() string { return "ssh login1" }

func (f *fakeRunner) Run(_ context.Context, argv []string) (Output, error) {
	f.mu.Lock()
	f.asked = append(f.asked, argv)
	f.mu.Unlock()
	if f.err != nil {
		return Output{}, f.err
	}
	line, best := strings.Join(argv, " "), ""
	for prefix := range f.answers {
		if strings.HasPrefix(line, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	return f.answers[best], nil
}

// last is the last command asked.
func (f *fakeRunner) last() string {
	if len(f.asked) == 0 {
		return ""
	}
	return strings.Join(f.asked[len(f.asked)-1], " ")
}

// ofVersion answers from what was recorded of a version.
func ofVersion(t *testing.T, version string) *fakeRunner {
	file := func(name string) Output { return Output{Stdout: []byte(read(t, "testdata/"+version+"/"+name))} }
	return &fakeRunner{answers: map[string]Output{
		"scontrol -d -a show node":             file("scontrol-d-show-node.txt"),
		"scontrol -d -a show node gpu-node007": file("scontrol-show-node-drained.txt"),
		"scontrol -d -a show job 8":            file("scontrol-show-job-array.txt"),
		"scontrol -d -a show job 9":            file("scontrol-show-job-het.txt"),
		"scontrol -a show partition":           file("scontrol-show-partition.txt"),
		"scontrol show reservation":            file("resv.txt"),
		"scontrol show config":                 file("scontrol-show-config.txt"),
		"squeue":                               {Stdout: []byte(queueText() + read(t, "testdata/"+version+"/squeue-fields.txt"))},
		"sacct":                                file("sacct-fields.txt"),
		"sdiag":                                file("sdiag.txt"),
		"sacctmgr -nP show qos":                file("sacctmgr-qos.txt"),
		"sacctmgr -nP show user":               {Stdout: []byte("Operator\n")},
		"id -un":                               {Stdout: []byte("gpuop\n")},
		"env -u TZ date +%z":                   {Stdout: []byte("+0530\n")},
	}}
}

var versions = []string{"22.05", "26.05"}

func TestReadsOverCommands(t *testing.T) {
	for _, version := range versions {
		run := ofVersion(t, version)
		c, ctx := NewCommandTransport(run), t.Context()
		if c.Via() != "ssh login1" {
			t.Errorf("via %s", c.Via())
		}
		nodes, err := c.Nodes(ctx)
		if len(nodes) != 4 || err != nil {
			t.Errorf("%s: %d nodes, %v", version, len(nodes), err)
		}
		jobs, err := c.Jobs(ctx)
		if len(jobs) < 12 || err != nil {
			t.Errorf("%s: %d jobs, %v", version, len(jobs), err)
		}
		if asked := run.last(); !strings.HasPrefix(asked, "squeue -a -t all -O jobarrayid:\x1f,") || !strings.HasSuffix(asked, ",workdir:\x1e") {
			t.Errorf("%s: asked %q", version, asked)
		}
		parts, err := c.Partitions(ctx)
		if len(parts) != 2 || err != nil {
			t.Errorf("%s: %d partitions, %v", version, len(parts), err)
		}
		resv, err := c.Reservations(ctx)
		if len(resv) != 1 || err != nil {
			t.Errorf("%s: %d reservations, %v", version, len(resv), err)
		}
		if s, err := c.Stats(ctx); s.JobsRunning == 0 || err != nil {
			t.Errorf("%s: %+v, %v", version, s, err)
		}
		if q, err := c.QOS(ctx); len(q) != 2 || err != nil {
			t.Errorf("%s: %+v, %v", version, q, err)
		}
	}
}

func TestHello(t *testing.T) {
	for _, version := range versions {
		run := ofVersion(t, version)
		c := NewCommandTransport(run)
		h, err := c.Hello(t.Context())
		if err != nil || !strings.HasPrefix(h.Version, version) || h.Native != "gpulab" || h.User != "gpuop" ||
			h.Role != fleet.RoleOperator || h.Offset != 5*time.Hour+30*time.Minute || !h.Accounting || h.Config["PreemptMode"] != "REQUEUE" {
			t.Errorf("%s: %+v, %v", version, h, err)
		}
		before := len(run.asked)
		if _, err := c.Hello(t.Context()); err != nil || len(run.asked)-before != 2 {
			t.Errorf("%s: a second Hello asked %q, %v", version, run.asked[before:], err)
		}
	}
}

func TestHelloRoles(t *testing.T) {
	for _, c := range []struct {
		user, level string
		exit        int
		want        fleet.Role
	}{
		{"root", "None", 0, fleet.RoleAdministrator},
		{"slurm", "", 1, fleet.RoleAdministrator},
		{"gpuadm", "Administrator", 0, fleet.RoleAdministrator},
		{"alice", "None", 0, fleet.RoleUser},
		{"alice", "", 0, fleet.RoleUser},
		{"alice", "", 1, fleet.RoleUnknown},
	} {
		run := ofVersion(t, "22.05")
		run.answers["id -un"] = Output{Stdout: []byte(c.user + "\n")}
		run.answers["sacctmgr -nP show user"] = Output{Stdout: []byte(c.level + "\n"), Exit: c.exit}
		if h, err := NewCommandTransport(run).Hello(t.Context()); h.Role != c.want || err != nil {
			t.Errorf("%+v: %s, %v", c, h.Role, err)
		}
	}
}

func TestSkew(t *testing.T) {
	asked := time.Date(2026, 11, 30, 12, 0, 0, 700e6, time.UTC)
	got := asked.Add(600 * time.Millisecond)
	for theirs, want := range map[time.Duration]time.Duration{
		-700 * time.Millisecond: 0, 300 * time.Millisecond: 0, 5*time.Minute + 600*time.Millisecond: 5 * time.Minute, -61 * time.Second: -time.Minute,
	} {
		if s := skew(asked.Add(theirs), asked, got); s != want {
			t.Errorf("%v: %v", theirs, s)
		}
	}
	if skew(time.Time{}, asked, got) != 0 {
		t.Error("no time is a skew")
	}
}

func TestOneNodeAndOneJob(t *testing.T) {
	run := ofVersion(t, "26.05")
	c, ctx := NewCommandTransport(run), t.Context()
	v, err := c.Node(ctx, "gpu-node007")
	if err != nil || !v.Draining() || v.Reason.Author != "root" || v.Reason.Text != "Xid 79 GPU has fallen off the bus" {
		t.Errorf("%+v, %v", v, err)
	}
	for id, want := range map[string]string{
		"8": "8_[2-5%2] 8_1 8_0", "8_1": "8_1", "8_*": "8_[2-5%2]", "8_[2-5%2]": "8_[2-5%2]", "9": "9+0 9+1", "9+1": "9+1",
	} {
		jobs, err := c.Job(ctx, id)
		var got []string
		for i := range jobs {
			got = append(got, jobs[i].ID)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", id, got, err)
		}
	}
	if _, err := c.Job(ctx, "8_99"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a task that is not there: %v", err)
	}
	if _, err := c.Node(ctx, "gpu-node[1-8]"); !errors.Is(err, ErrInput) {
		t.Errorf("a host list as a node: %v", err)
	}
}

func TestAccountingSince(t *testing.T) {
	run := ofVersion(t, "22.05")
	since := time.Date(2026, 11, 30, 21, 54, 0, 0, time.FixedZone("", 0))
	jobs, err := NewCommandTransport(run).Accounting(t.Context(), since)
	if err != nil || len(jobs) == 0 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	for i := range jobs {
		if !jobs[i].Done() || jobs[i].Ended.Before(since) {
			t.Errorf("%+v", jobs[i])
		}
	}
	if argv := run.asked[0]; !slices.Contains(argv, "2026-11-30T21:54:00") || !slices.Contains(argv, "--delimiter=\x1f") {
		t.Errorf("asked %q", argv)
	}
}

func TestC31_NoNodesIsNotBelieved(t *testing.T) {
	run := &fakeRunner{answers: map[string]Output{"scontrol": {Stdout: []byte("No nodes in the system\n")}}}
	if _, err := NewCommandTransport(run).Nodes(t.Context()); !errors.Is(err, ErrUnbelievable) {
		t.Errorf("got %v", err)
	}
}

func TestC115_WhatSlurmSays(t *testing.T) {
	for _, c := range []struct {
		stderr string
		exit   int
		want   error
	}{
		{"slurm_load_jobs error: Socket timed out on send/recv operation", 1, ErrBusy},
		{"slurm_load_jobs error: Unable to contact slurm controller (connect failure)", 1, ErrUnreachable},
		{"sacct: error: Problem talking to the database: Connection refused", 1, ErrUnreachable},
		{"slurm_update error: Invalid user id", 1, ErrDenied},
		{"Access/permission denied for job 1", 1, ErrDenied},
		{"scancel: error: Kill job error on job id 4: Access/permission denied", 210, ErrDenied},
		{"job script retrieval failed: Invalid user id", 0, ErrDenied},
		{"Invalid job id specified for job 999999", 1, ErrNotFound},
		{"slurm_update error: Invalid node name specified", 1, ErrNotFound},
		{"Node nosuch not found", 1, ErrNotFound},
		{"Job is pending execution for job 19", 1, ErrState},
		{"Job has already finished for job 3", 1, ErrState},
		{"Requested operation is presently disabled for job 24", 1, ErrState},
		{"Job is in held state, pending scheduler release for job 19", 1, ErrState},
		{"slurm_update error: Invalid node state specified", 1, ErrState},
		{"slurm_update error: Invalid node state transition", 1, ErrState},
		{"10_3-6: Job has already finished", 1, ErrState},
		{"scontrol: unrecognized option '--json'", 1, ErrUnsupported},
		{"sacct: error: Invalid field requested: \"restarts\"", 1, ErrUnsupported},
		{"Slurm accounting storage is disabled", 1, ErrNoAccounting},
		{"You must specify a reason when DOWNING or DRAINING a node. Request denied", 1, ErrInput},
	} {
		err := verdict([]string{"scontrol", "-o", "show", "job"}, Output{Stderr: []byte(c.stderr + "\n"), Exit: c.exit})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.stderr) || !strings.HasPrefix(err.Error(), "scontrol show job: ") {
			t.Errorf("%q: %v", c.stderr, err)
		}
	}
	quiet := Output{Stderr: []byte("** Welcome to login1 **\n")}
	if err := verdict([]string{"squeue"}, quiet); err != nil {
		t.Errorf("a banner is no error: %v", err)
	}
	for _, out := range []Output{{Exit: 3}, {Stderr: []byte("squeue: error: something new")}, {Stdout: []byte("new words"), Exit: 1}} {
		if err := verdict([]string{"squeue"}, out); err == nil {
			t.Errorf("%+v: no error", out)
		}
	}
}

func TestRunnerErrorsPass(t *testing.T) {
	run := &fakeRunner{err: ErrUnreachable}
	c, ctx := NewCommandTransport(run), t.Context()
	_, hello := c.Hello(ctx)
	_, nodes := c.Nodes(ctx)
	_, jobs := c.Jobs(ctx)
	_, acct := c.Accounting(ctx, time.Now())
	for _, err := range []error{hello, nodes, jobs, acct, c.Hold(ctx, "1")} {
		if !errors.Is(err, ErrUnreachable) {
			t.Errorf("got %v", err)
		}
	}
}
