package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// actFlags are the flags that every action has.
type actFlags struct {
	cluster, confirm, override, output string
	yes, dryRun                        bool
	opts                               actions.Options
}

// action describes one verb on the command line.
type action struct {
	verb    actions.Verb
	kind    fleet.Kind
	short   string
	long    string
	example string
	flags   func(f *pflag.FlagSet, o *actFlags)
}

func actionCommands(a *app) []*cobra.Command {
	var cmds []*cobra.Command
	for _, act := range actionTable() {
		cmds = append(cmds, newAction(a, act))
	}
	return cmds
}

func newAction(a *app, act action) *cobra.Command {
	var o actFlags
	noun := "NODE..."
	list := "nodes"
	if act.kind == fleet.KindJob {
		noun, list = "JOB...", "jobs"
	}
	cmd := &cobra.Command{
		Use: string(act.verb) + " " + noun, Short: act.short, Long: act.long, Example: act.example,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.act(cmd.Context(), act, args, o) },
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return a.completeNames(cmd.Context(), list, prefix)
		},
	}
	f := cmd.Flags()
	o.add(f)
	act.flags(f, &o)
	if f.Lookup("reason") == nil {
		f.StringVar(&o.opts.Reason, "reason", "", "why, for the audit log")
	}
	return cmd
}

// add defines the flags that every action has.
func (o *actFlags) add(f *pflag.FlagSet) {
	f.StringVar(&o.cluster, "cluster", "", "the cluster, where several know the name")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the plan and do nothing")
	f.BoolVarP(&o.yes, "yes", "y", false, "confirm (guard level confirm)")
	f.StringVar(&o.confirm, "confirm", "", "confirm by name (guard level typed): the one target's name, or the cluster's")
	f.StringVar(&o.override, "override-limit", "", "lift the cap of nodes in a window: the cluster's name")
	f.DurationVar(&o.opts.Timeout, "timeout", 0, "how long to wait for the read-back; then exit 4 (default: the verb's own)")
	f.StringVarP(&o.output, "output", "o", "table", "output format: table, json, yaml")
	f.StringVar(&o.opts.Ticket, "ticket", "", "ticket, for the audit log")
}

// act names the targets, and does the rest as every action does.
func (a *app) act(ctx context.Context, act action, args []string, o actFlags) error {
	return a.perform(ctx, o, func(snap *fleet.Snapshot) (actions.Request, error) { return a.request(snap, act, args, o) })
}

// perform makes the request from what is known now, plans it, asks for nothing it was
// not given, runs and reports.
func (a *app) perform(ctx context.Context, o actFlags, request func(*fleet.Snapshot) (actions.Request, error)) error {
	if err := checkFormat(o.output, "table", "json", "yaml"); err != nil {
		return err
	}
	if o.opts.Timeout < 0 {
		return failf(exitUsage, "--timeout %s: a time to wait is not negative", o.opts.Timeout)
	}
	a.agents.none = a.agents.nodes == nil
	s, err := a.open(ctx, o.cluster)
	if err != nil {
		return err
	}
	defer s.close()
	wait := s.first
	if o.opts.Partition != "" { // it is checked by name
		wait = s.facts
	}
	snap, err := wait(ctx)
	if err != nil {
		return err
	}
	req, err := request(snap)
	if err != nil {
		return err
	}
	plan, err := s.engine.Plan(ctx, req)
	if err != nil {
		return fail(actions.ErrorExit(err), err)
	}
	out := &actOutput{app: a, format: o.output}
	if o.dryRun {
		return out.dryRun(plan)
	}
	out.begin(plan)
	events, err := s.engine.Run(ctx, plan, actions.Confirmation{Yes: o.yes, Word: o.confirm, Override: o.override})
	if err != nil {
		return out.refused(plan, err)
	}
	return out.follow(events)
}

// request names the exact targets.
func (a *app) request(snap *fleet.Snapshot, act action, args []string, o actFlags) (actions.Request, error) {
	req := actions.Request{Verb: act.verb, Options: o.opts}
	var err error
	if act.kind == fleet.KindNode {
		req.Targets, err = actions.ResolveNodes(snap, o.cluster, args)
	} else {
		req.Targets, err = actions.ResolveJobs(snap, o.cluster, args)
	}
	if err != nil {
		if a.trouble(snap) != nil { // an unknown name says little while a source is down
			return req, failf(exitSource, "%s cannot be looked up while a cluster does not answer; nothing was done", strings.Join(args, " "))
		}
		return req, fail(actions.ErrorExit(err), err)
	}
	for i, n := range req.Options.Exclude {
		if n == "" {
			return req, failf(exitUsage, "--exclude: name %d is empty", i+1)
		}
	}
	return req, nil
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

func graceFlag(f *pflag.FlagSet, o *actFlags) {
	f.DurationVar(&o.opts.Grace, "grace", 0, "how long the job may save after --signal (default 1m)")
}

func excludeFlag(f *pflag.FlagSet, o *actFlags, help string) {
	f.Var(hostListFlag{&o.opts.Exclude}, "exclude", help)
}

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
			func(f *pflag.FlagSet, o *actFlags) {
				f.StringVar(&o.opts.Signal, "signal", "", "send this signal first, so that the job can save")
				graceFlag(f, o)
				f.StringVar(&o.opts.For, "for", "", "the waiting job that is to get the room; its start is waited for")
				f.BoolVar(&o.opts.Hold, "hold", false, "leave the preempted jobs held")
				excludeFlag(f, o, "keep the preempted jobs off these nodes from now on")
			},
		},
		{actions.Suspend, jobs, "Stop running jobs where they are", "", "  gpuctl suspend 4711 --yes", none},
		{actions.Unsuspend, jobs, "Let suspended jobs go on", "", "  gpuctl unsuspend 4711 --yes", none},
		{
			actions.Update, jobs, "Change priority, time limit, partition or excluded nodes of jobs", "",
			"  gpuctl update 4711 --time-limit +120 --yes",
			func(f *pflag.FlagSet, o *actFlags) {
				f.Var(priorityFlag{&o.opts.Priority}, "priority", "new priority")
				f.StringVar(&o.opts.TimeLimit, "time-limit", "", "new time limit, in Slurm's syntax: 90, 2-00:00:00, UNLIMITED, +60")
				f.StringVar(&o.opts.Partition, "partition", "", "new partition")
				excludeFlag(f, o, "keep it off these nodes from now on")
			},
		},
	}
}

// planTimeout is a plan's timeout for people.
func planTimeout(p *actions.Plan) string { return p.Timeout.Round(time.Second).String() }
