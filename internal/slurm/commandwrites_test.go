package slurm

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestWritesAreExactlyThis(t *testing.T) {
	ctx := t.Context()
	prio, comment, none := int64(500), "x=1 y", ""
	for _, c := range []struct {
		do   func(Transport) error
		want []string
	}{
		{func(s Transport) error {
			return s.UpdateNodes(ctx, []string{"gn1", "gn2"}, NodeChange{State: "DRAIN", Reason: "gpuctl: bad NVLink"})
		}, []string{"scontrol", "update", "nodename=gn1,gn2", "state=DRAIN", "reason=gpuctl: bad NVLink"}},
		{func(s Transport) error {
			return s.UpdateNodes(ctx, []string{"gn1"}, NodeChange{State: "DRAIN", Reason: `see "x"`})
		}, []string{"scontrol", "update", "nodename=gn1", "state=DRAIN", `reason="see "x""`}},
		{
			func(s Transport) error { return s.UpdateNodes(ctx, []string{"gn1"}, NodeChange{State: "RESUME"}) },
			[]string{"scontrol", "update", "nodename=gn1", "state=RESUME"},
		},
		{
			func(s Transport) error { return s.UpdateJob(ctx, "8_3", JobChange{StartNow: true}) },
			[]string{"scontrol", "update", "jobid=8_3", "starttime=now"},
		},
		{func(s Transport) error {
			return s.UpdateJob(ctx, "8_[4-7%2]", JobChange{
				Priority: &prio, TimeLimit: "+60", Partition: "low,high", Exclude: []string{"gn1", "gn2"}, Comment: &comment,
			})
		}, []string{"scontrol", "update", "jobid=8_[4-7]", "priority=500", "timelimit=+60", "partition=low,high", "excnodelist=gn1,gn2", "comment=x=1 y"}},
		{
			func(s Transport) error { return s.UpdateJob(ctx, "1", JobChange{Exclude: []string{}, Comment: &none}) },
			[]string{"scontrol", "update", "jobid=1", "excnodelist=", "comment="},
		},
		{func(s Transport) error { return s.Requeue(ctx, "8_3", false) }, []string{"scontrol", "requeue", "8_3"}},
		{func(s Transport) error { return s.Requeue(ctx, "1", true) }, []string{"scontrol", "requeuehold", "1"}},
		{func(s Transport) error { return s.Hold(ctx, "1") }, []string{"scontrol", "hold", "1"}},
		{func(s Transport) error { return s.Release(ctx, "6_[0-6:3]") }, []string{"scontrol", "release", "6_[0,3,6]"}},
		{func(s Transport) error { return s.Suspend(ctx, "1") }, []string{"scontrol", "suspend", "1"}},
		{func(s Transport) error { return s.Resume(ctx, "1") }, []string{"scontrol", "resume", "1"}},
		{func(s Transport) error { return s.Signal(ctx, "8_3", "", false) }, []string{"scancel", "8_3"}},
		{func(s Transport) error { return s.Signal(ctx, "9+1", "USR1", true) }, []string{"scancel", "--signal=USR1", "--full", "9+1"}},
	} {
		run := &fakeRunner{}
		err := c.do(NewCommandTransport(run))
		if err != nil || len(run.asked) != 1 || !slices.Equal(run.asked[0], c.want) {
			t.Errorf("got %q, %v, want %q", run.asked, err, c.want)
		}
	}
}

func TestBadInputIsNeverSent(t *testing.T) {
	ctx := t.Context()
	neg, esc := int64(-1), "a\x1b[2J"
	nodes := func(c NodeChange, names ...string) func(Transport) error {
		return func(s Transport) error { return s.UpdateNodes(ctx, names, c) }
	}
	job := func(id string, c JobChange) func(Transport) error {
		return func(s Transport) error { return s.UpdateJob(ctx, id, c) }
	}
	for i, do := range []func(Transport) error{
		nodes(NodeChange{State: "DRAIN"}, "gn1"),
		nodes(NodeChange{State: "DRAIN", Reason: "  "}, "gn1"),
		nodes(NodeChange{State: "DRAIN", Reason: "x"}),
		nodes(NodeChange{State: "DRAIN", Reason: "x"}, "gn[1-99]"),
		nodes(NodeChange{State: "DRAIN", Reason: "x"}, "gn1,gn2"),
		nodes(NodeChange{State: "DRAIN", Reason: "x\ny"}, "gn1"),
		nodes(NodeChange{State: "POWER_DOWN"}, "gn1"),
		nodes(NodeChange{}, "gn1"),
		job("1", JobChange{}),
		job("1", JobChange{Priority: &neg}),
		job("1", JobChange{TimeLimit: "soon"}),
		job("1", JobChange{Partition: "a b"}),
		job("1", JobChange{Exclude: []string{"-x"}}),
		job("1", JobChange{Comment: &esc}),
		job("--all", JobChange{StartNow: true}),
		func(s Transport) error { return s.Signal(ctx, "1", "FOO", false) },
		func(s Transport) error { return s.Signal(ctx, "8_*", "", false) },
		func(s Transport) error { return s.Requeue(ctx, "8_[1,3...]", false) },
		func(s Transport) error { return s.Hold(ctx, "1 2") },
		func(s Transport) error { _, err := s.Job(ctx, "1;2"); return err },
		func(s Transport) error { _, err := s.Node(ctx, "-x"); return err },
	} {
		run := &fakeRunner{}
		if err := do(NewCommandTransport(run)); !errors.Is(err, ErrInput) || len(run.asked) != 0 {
			t.Errorf("case %d: sent %q, %v", i, run.asked, err)
		}
	}
}

func TestHetJobIsRequeuedAsAWhole(t *testing.T) {
	run := &fakeRunner{}
	if err := NewCommandTransport(run).Requeue(context.Background(), "9+1", false); !errors.Is(err, ErrUnsupported) || len(run.asked) != 0 {
		t.Errorf("sent %q, %v", run.asked, err)
	}
}

func TestCommandsCanDoEverything(t *testing.T) {
	for _, op := range []Op{OpUpdateNode, OpUpdateJob, OpRequeue, OpHold, OpRelease, OpSuspend, OpSignal, OpCancel} {
		if err := NewCommandTransport(&fakeRunner{}).Can(op); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
}
