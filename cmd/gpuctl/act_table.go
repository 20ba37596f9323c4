package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// actionTable is every verb for nodes and jobs.
func actionTable() []action {
	none := func(*pflag.FlagSet, *actFlags) {}
	const nodes, jobs = fleet.KindNode, fleet.KindJob
	return []action{
		{
			actions.Drain, nodes, "Keep new work off nodes and wait until they are empty",
			"Keep new work off nodes; what runs there goes on until it ends. Verified means drained: DRAIN is set and nothing is\nallocated or completing, read twice. When --timeout is over and work is still there, the exit code is 4 and the drain stays.",
			"  gpuctl drain gpu-node003 --reason 'XID 79' --yes\n  gpuctl drain 'gpu-node[003-005]' --reason 'NVLink errors' --ticket OPS-12 --dry-run",
			func(f *pflag.FlagSet, o *actFlags) {
				f.StringVar(&o.opts.Reason, "reason", "", "why; Slurm refuses a drain without (required)")
			},
		},
		{actions.Undrain, nodes, "Return nodes to service", "", "  gpuctl undrain gpu-node003 --yes", none},
		{
			actions.Requeue, jobs, "Stop jobs and put them back into the queue under the same id",
			"Stop jobs and put them back into the queue under the same id. Slurm itself holds a requeued job back for about two\nminutes; --now starts it as soon as there is room.",
			"  gpuctl requeue 4711 --now --exclude gpu-node017 --yes",
			func(f *pflag.FlagSet, o *actFlags) {
				f.BoolVar(&o.opts.Now, "now", false, "start again as soon as there is room, not after two minutes")
				f.BoolVar(&o.opts.Hold, "hold", false, "leave it held after the requeue")
				excludeFlag(f, o, "keep it off these nodes from now on")
			},
		},
		{actions.Hold, jobs, "Keep waiting jobs from starting", "", "  gpuctl hold 4711 --yes", none},
		{
			actions.Release, jobs, "Let held jobs start", "", "  gpuctl release 5120 --exclude gpu-node023 --yes",
			func(f *pflag.FlagSet, o *actFlags) {
				f.BoolVar(&o.opts.Now, "now", false, "start as soon as there is room, whatever its begin time")
				excludeFlag(f, o, "keep it off these nodes from now on")
			},
		},
		{
			actions.Cancel, jobs, "End jobs, or send them a signal", "", "  gpuctl cancel 8_3 --yes\n  gpuctl cancel 4711 --signal USR1 --yes",
			func(f *pflag.FlagSet, o *actFlags) {
				f.StringVar(&o.opts.Signal, "signal", "", "send this signal instead of ending the job")
			},
		},
		{
			actions.Preempt, jobs, "Take the nodes from running jobs, gently", "Take the nodes from running jobs: a signal and a wait when asked, then a requeue.\nSlurm's own wait of two minutes after a requeue lets the job that is to get the room go first.",
			"  gpuctl preempt 4711 --signal USR1 --grace 2m --for 5120 --yes",
			preemptFlags,
		},
		{actions.Suspend, jobs, "Stop running jobs where they are", "", "  gpuctl suspend 4711 --yes", none},
		{actions.Unsuspend, jobs, "Let suspended jobs go on", "", "  gpuctl unsuspend 4711 --yes", none},
		{
			actions.Update, jobs, "Change priority, time limit, partition or excluded nodes of jobs", "",
			"  gpuctl update 4711 --time-limit +120 --yes",
			updateFlags,
		},
	}
}

func preemptFlags(f *pflag.FlagSet, o *actFlags) {
	f.StringVar(&o.opts.Signal, "signal", "", "send this signal first, so that the job can save")
	f.DurationVar(&o.opts.Grace, "grace", 0, "how long the job may save after --signal (default 1m)")
	f.StringVar(&o.opts.For, "for", "", "the waiting job that is to get the room; its start is waited for")
	f.BoolVar(&o.opts.Hold, "hold", false, "leave the preempted jobs held")
	excludeFlag(f, o, "keep the preempted jobs off these nodes from now on")
}

func updateFlags(f *pflag.FlagSet, o *actFlags) {
	f.Var(priorityFlag{&o.opts.Priority}, "priority", "new priority")
	f.StringVar(&o.opts.TimeLimit, "time-limit", "", "new time limit, in Slurm's syntax: 90, 2-00:00:00, UNLIMITED, +60")
	f.StringVar(&o.opts.Partition, "partition", "", "new partition")
	excludeFlag(f, o, "keep it off these nodes from now on")
}

func excludeFlag(f *pflag.FlagSet, o *actFlags, help string) {
	f.Var(hostListFlag{&o.opts.Exclude}, "exclude", help)
}

// hostListFlag takes host lists and keeps the names.
type hostListFlag struct{ names *[]string }

func (h hostListFlag) String() string {
	if h.names == nil {
		return ""
	}
	return fleet.FoldHosts(*h.names)
}

func (h hostListFlag) Type() string { return "hostlist" }

func (h hostListFlag) Set(s string) error {
	names, err := fleet.ExpandHosts(s, fleet.MaxHosts)
	if err != nil {
		return err
	}
	*h.names = append(*h.names, names...)
	return nil
}

// priorityFlag keeps "not given" apart from any number.
type priorityFlag struct{ value **int64 }

func (p priorityFlag) String() string {
	if p.value == nil || *p.value == nil {
		return ""
	}
	return fmt.Sprint(**p.value)
}

func (p priorityFlag) Type() string { return "number" }

func (p priorityFlag) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a whole number", s)
	}
	*p.value = &n
	return nil
}
