package main

import (
	"context"
	"strings"

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
