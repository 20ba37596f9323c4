package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpuctl/gpuctl/internal/actions"
	migactions "github.com/gpuctl/gpuctl/internal/actions/mig"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// gpuFlags are the flags of what is done to GPUs of a node.
type gpuFlags struct {
	actFlags
	gpus, file string
}

const layoutHelp = `LAYOUT is profiles with counts (3g.40gb,2g.20gb,1g.10gb:2), with places in memory slices (3g.40gb@0,1g.10gb@4),
off for MIG disabled, on for MIG enabled and empty, or with --file the name of a config of a mig-parted file.`

func newMIG(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "mig", Short: "Show, plan and change the MIG layouts of nodes", Args: cobra.NoArgs}
	cmd.AddCommand(newMIGGet(a), newMIGPlan(a), newMIGApply(a))
	return cmd
}

func newMIGGet(a *app) *cobra.Command {
	var o getOptions
	cmd := &cobra.Command{
		Use: "get NODE...", Short: "List the MIG instances of nodes, as gpuctl get mig does",
		Example: "  gpuctl mig get gpu-node017",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.get(cmd.Context(), "mig", args, o) },
	}
	completeNodes(a, cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", "table", "output format: "+strings.Join(formats, ", "))
	cmd.Flags().StringVar(&o.cluster, "cluster", "", "only this cluster")
	return cmd
}

func newMIGPlan(a *app) *cobra.Command {
	o := gpuFlags{actFlags: actFlags{dryRun: true}}
	cmd := &cobra.Command{
		Use: "plan NODE LAYOUT --gpu N|all", Short: "Show what a change of MIG layout would do",
		Long:    "Show what a change of MIG layout would do, and do nothing: what stays, goes and is made, who is in the way, and what\nthe scheduler has to be told.\n\n" + layoutHelp,
		Example: "  gpuctl mig plan gpu-node017 --gpu 3 3g.40gb,2g.20gb,1g.10gb:2\n  gpuctl mig plan gpu-node017 --gpu all all-balanced --file mig.yaml",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.repartition(cmd.Context(), args[0], args[1], &o)
		},
	}
	completeNodes(a, cmd)
	f := cmd.Flags()
	f.StringVar(&o.cluster, "cluster", "", "the cluster, where several know the name")
	f.StringVarP(&o.output, "output", "o", "table", "output format: table, json, yaml")
	o.chooseFlags(f)
	f.StringVar(&o.file, "file", "", "mig-parted file whose config LAYOUT names")
	return cmd
}

func newMIGApply(a *app) *cobra.Command {
	var o gpuFlags
	cmd := &cobra.Command{
		Use: "apply NODE LAYOUT --gpu N|all", Short: "Change the MIG layout of GPUs, and read it back",
		Long: "Change the MIG layout of GPUs of one node: drain it, change the GPUs through its agent, wait until its daemon was\n" +
			"restarted and the scheduler counts what is there now, return it to service. Instances that can stay do. When a call\n" +
			"fails the layout before is restored.\n\n" + layoutHelp,
		Example: "  gpuctl mig apply gpu-node017 --gpu 3 3g.40gb:2 --yes\n  gpuctl mig apply gpu-node017 --gpu all off --dry-run",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.repartition(cmd.Context(), args[0], args[1], &o)
		},
	}
	completeNodes(a, cmd)
	o.flags(cmd.Flags())
	cmd.Flags().StringVar(&o.file, "file", "", "mig-parted file whose config LAYOUT names")
	return cmd
}

func newGPU(a *app) *cobra.Command {
	var o gpuFlags
	reset := &cobra.Command{
		Use: "reset NODE --gpu N|all", Short: "Reset GPUs of a node, and read them back",
		Long: "Reset GPUs of one node: drain it, reset each GPU through its agent, which lets go of it first and names whoever does\n" +
			"not, make MIG instances again that the reset wiped out, and return the node to service.",
		Example: "  gpuctl gpu reset gpu-node017 --gpu 3 --yes",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.resetGPUs(cmd.Context(), args[0], &o) },
	}
	completeNodes(a, reset)
	o.flags(reset.Flags())
	cmd := &cobra.Command{Use: "gpu", Short: "What is done to GPUs", Args: cobra.NoArgs}
	cmd.AddCommand(reset)
	return cmd
}

// flags defines all of them.
func (o *gpuFlags) flags(f *pflag.FlagSet) {
	o.add(f)
	o.chooseFlags(f)
	f.StringVar(&o.opts.Reason, "reason", "", "why: the drain's reason, and for the audit logs")
}

func (o *gpuFlags) chooseFlags(f *pflag.FlagSet) {
	f.StringVar(&o.gpus, "gpu", "", "the GPUs: indices (0,3), UUIDs, or all (required)")
	f.BoolVar(&o.opts.NoDrain, "no-drain", false, "leave the node in service (guard level typed: its name)")
}

func completeNodes(a *app, cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completeNames(cmd.Context(), "nodes", prefix)
	}
}

// repartition plans a layout, and applies it unless only the plan is wanted.
func (a *app) repartition(ctx context.Context, node, layout string, o *gpuFlags) error {
	wishes, err := layoutWishes(layout, o.file)
	if err != nil {
		return fail(exitUsage, err)
	}
	return a.onGPUs(ctx, actions.MIGApply, node, o, wishes)
}

func (a *app) resetGPUs(ctx context.Context, node string, o *gpuFlags) error {
	return a.onGPUs(ctx, actions.GPUReset, node, o, func(gpus []*fleet.GPU) ([]actions.GPUWish, error) {
		return migactions.Wishes(gpus, "")
	})
}

func (a *app) onGPUs(ctx context.Context, verb actions.Verb, node string, o *gpuFlags, wishes func([]*fleet.GPU) ([]actions.GPUWish, error)) error {
	if o.gpus == "" {
		return failf(exitUsage, "which GPUs of %s? Give --gpu N, or --gpu all", node)
	}
	a.agents.nodes = []string{node}
	return a.perform(ctx, o.actFlags, func(snap *fleet.Snapshot) (actions.Request, error) {
		req, err := a.request(snap, action{verb: verb, kind: fleet.KindNode}, []string{node}, o.actFlags)
		if err != nil {
			return req, err
		}
		if len(req.Targets) != 1 {
			return req, failf(exitUsage, "%s names %d nodes; one is changed at a time", node, len(req.Targets))
		}
		gpus, err := migactions.Choose(snap.Node(req.Targets[0].Name), o.gpus)
		if err != nil {
			return req, fail(exitUsage, err)
		}
		req.Options.GPUs, err = wishes(gpus)
		return req, fail(exitUsage, err)
	})
}

// layoutWishes reads the layout, or the named config of a file, before anything is
// connected.
func layoutWishes(layout, file string) (func([]*fleet.GPU) ([]actions.GPUWish, error), error) {
	if file == "" {
		_, err := mig.ParseLayout(layout)
		return func(gpus []*fleet.GPU) ([]actions.GPUWish, error) { return migactions.Wishes(gpus, layout) }, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	configs, err := mig.ParsePartedFile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	config, ok := configs[layout]
	if !ok {
		var names []string
		for name := range configs {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("%s has no config %q; it has %s", file, layout, strings.Join(names, ", "))
	}
	return func(gpus []*fleet.GPU) ([]actions.GPUWish, error) { return migactions.PartedWishes(gpus, config) }, nil
}
