package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
	"github.com/gpuctl/gpuctl/internal/triage"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

func newDescribe(a *app) *cobra.Command {
	var output, cluster string
	cmd := &cobra.Command{
		Use:     "describe node|job|gpu|finding NAME",
		Short:   "Show everything known of one thing",
		Example: "  gpuctl describe node gpu-node017\n  gpuctl describe job 4711 -o json",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.describe(cmd.Context(), args[0], args[1], cluster, output)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return withPrefix([]string{"node", "job", "gpu", "finding"}, prefix), cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeNames(cmd.Context(), args[0], prefix)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "output format: table, json, yaml")
	cmd.Flags().StringVar(&cluster, "cluster", "", "the cluster, where several know the name")
	return cmd
}

func (a *app) describe(ctx context.Context, word, name, cluster, output string) error {
	r, err := findResource(word)
	if err != nil {
		return err
	}
	if err = checkFormat(output, "table", "json", "yaml"); err != nil {
		return err
	}
	s, err := a.open(ctx, cluster)
	if err != nil {
		return err
	}
	defer s.close()
	snap, err := s.facts(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	rows, err := r.selected(snap, now, []string{name})
	if err != nil {
		return errors.Join(err, a.trouble(snap))
	}
	if output != "table" {
		if err := printRows(a.stdout, output, r, rows, snap, now); err != nil {
			return err
		}
		return a.trouble(snap)
	}
	for i, x := range rows {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := s.describeRow(ctx, a.stdout, r, x, snap, now); err != nil {
			return err
		}
	}
	return a.trouble(snap)
}

func (s *session) describeRow(ctx context.Context, w io.Writer, r *resource, x row, snap *fleet.Snapshot, now time.Time) error {
	switch r.name {
	case "nodes":
		describeNode(w, snap, snap.Node(x.name), now)
		return nil
	case "jobs", "queue":
		k, _ := x.key.(fleet.JobKey)
		return s.describeJob(ctx, w, snap, snap.Job(k), now)
	case "gpus":
		describeGPU(w, snap, x.name, now)
		return nil
	}
	for i, c := range r.columns {
		field(w, strings.ToLower(c.title), x.cells[i])
	}
	return nil
}

// field writes one line of a description; what is empty is left out.
func field(w io.Writer, name, value string) {
	if value != "" && value != words.None {
		say(w, "%-14s %s", name, value)
	}
}

func describeNode(w io.Writer, snap *fleet.Snapshot, n *fleet.Node, now time.Time) {
	field(w, "node", n.Name)
	field(w, "disagree", n.Disagree)
	for i := range n.Views {
		describeView(w, &n.Views[i], now)
	}
	for i := range n.GPUs {
		g := &n.GPUs[i]
		field(w, fmt.Sprintf("gpu %d", g.Index), gpuLine(n, g))
	}
	for _, j := range snap.JobsOn(n.Name) {
		field(w, "job", fmt.Sprintf("%s %s of %s, %s, %s", j.ID, j.Name, j.User, words.JobState(j), words.Plural(gpusOf(j), "GPU")))
	}
	for i := range snap.Findings {
		if f := &snap.Findings[i]; f.Subject.Name == n.Name || f.Subject.Kind == fleet.KindGPU && n.GPU(f.Subject.Name) != nil {
			field(w, "finding", f.Severity.String()+": "+f.Title)
			field(w, "", f.Advice)
		}
	}
}

func describeView(w io.Writer, v *fleet.View, now time.Time) {
	field(w, "cluster", v.Cluster+" ("+string(v.Kind)+")")
	field(w, "state", words.ViewState(v))
	if v.Reason.Text != "" {
		field(w, "reason", fmt.Sprintf("%s (by %s, %s ago)", v.Reason.Text, words.Or(v.Reason.Author), words.Age(now, v.Reason.At)))
		why := triage.ExplainNodeReason(v.Reason)
		field(w, "meaning", why.Plain)
		field(w, "advice", why.Advice)
	}
	field(w, "queues", words.Queues(v.Queues))
	field(w, "gpus", fmt.Sprintf("%d of %d allocated, %s", v.GPUs.Allocated, v.GPUs.Total, words.Or(v.GPUs.Model)))
	field(w, "cpus", fmt.Sprintf("%d of %d allocated", v.CPUs.Allocated, v.CPUs.Total))
	field(w, "memory", fmt.Sprintf("%d of %d MiB allocated", v.Memory.Allocated, v.Memory.Total))
	field(w, "features", strings.Join(v.Features, ","))
	field(w, "reservation", v.Resv)
	field(w, "version", v.Version)
	field(w, "booted", stamp(v.Booted))
	field(w, "odd", strings.Join(v.Oddities, "; "))
}

// describeJob shows the row and, where the cluster answers, its full record.
func (s *session) describeJob(ctx context.Context, w io.Writer, snap *fleet.Snapshot, j *fleet.Job, now time.Time) error {
	describeJobRow(w, snap, j, now)
	details, err := s.jobDetail(ctx, j.Key.Cluster, j.ID)
	if err != nil {
		if errors.Is(err, slurm.ErrNotFound) {
			field(w, "detail", "no longer known to slurmctld")
			return nil
		}
		return fail(exitFailed, fmt.Errorf("detail of job %s: %w", j.ID, err))
	}
	for i := range details {
		d := &details[i]
		field(w, "command", d.Command)
		field(w, "output", d.StdOut)
		if d.StdErr != d.StdOut {
			field(w, "errors", d.StdErr)
		}
		for _, alloc := range d.Alloc {
			field(w, "on "+alloc.Node, gresWords(alloc.GRES))
		}
	}
	return nil
}

func gresWords(list []fleet.GRES) string {
	var parts []string
	for _, g := range list {
		parts = append(parts, g.Raw)
	}
	return strings.Join(parts, " ")
}

func describeJobRow(w io.Writer, snap *fleet.Snapshot, j *fleet.Job, now time.Time) {
	field(w, "job", j.ID+" "+j.Name)
	field(w, "cluster", j.Key.Cluster+" ("+string(j.Kind)+")")
	field(w, "user", j.User+" (account "+words.Or(j.Account)+", QOS "+words.Or(j.QOS)+")")
	field(w, "queue", j.Queue)
	field(w, "state", words.JobState(j))
	if j.Waiting() {
		why := triage.ExplainPending(j, snap)
		field(w, "waits", words.Reason(j.Reason))
		field(w, "meaning", why.Plain)
		field(w, "next", why.Next)
	}
	field(w, "gpus", fmt.Sprintf("%d held, %d wanted", j.GPUs.Held, j.GPUs.Wanted))
	field(w, "nodes", fmt.Sprintf("%d %s", j.NodeCount, fleet.FoldHosts(j.Nodes)))
	field(w, "excluded", j.ExcNodes)
	field(w, "submitted", stamp(j.Submitted))
	field(w, "est. start", stamp(j.EstStart))
	field(w, "started", stamp(j.Started))
	field(w, "ended", stamp(j.Ended))
	field(w, "runs for", elapsed(j, now))
	field(w, "limit", words.Limit(j.Limit))
	field(w, "restarts", fmt.Sprint(j.Restarts))
	field(w, "priority", fmt.Sprint(j.Priority))
	field(w, "dependency", j.Dependency)
	field(w, "comment", j.Comment)
	field(w, "work dir", j.WorkDir)
	field(w, "odd", strings.Join(j.Oddities, "; "))
}
