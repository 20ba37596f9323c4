package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/actions/audit"
	"github.com/gpuctl/gpuctl/internal/config"
)

// noteReach is how much further than the shift a note looks for what is still open.
const noteReach = 30 * 24 * time.Hour

type auditOptions struct {
	since  time.Duration
	output string
	filter audit.Filter
	verb   string
}

func newAudit(a *app) *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use:     "audit",
		Short:   "Show what was done, by whom; or the note for the next shift",
		Example: "  gpuctl audit --since 8h -o markdown\n  gpuctl audit --target gpu-node017",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.audit(o) },
	}
	f := cmd.Flags()
	f.DurationVar(&o.since, "since", 24*time.Hour, "how far back")
	f.StringVarP(&o.output, "output", "o", "table", "output format: table, json, markdown")
	f.StringVar(&o.filter.Cluster, "cluster", "", "only this cluster")
	f.StringVar(&o.filter.Target, "target", "", "only this node or job")
	f.StringVar(&o.filter.User, "user", "", "only what this person did")
	f.StringVar(&o.verb, "verb", "", "only this verb")
	return cmd
}

func (a *app) audit(o auditOptions) error {
	if err := checkFormat(o.output, "table", "json", "markdown"); err != nil {
		return err
	}
	if o.since < 0 {
		return failf(exitUsage, "--since %s: a time to look back is not negative", o.since)
	}
	c, _, err := config.Load(config.Options{File: a.configFile})
	if err != nil {
		return fail(exitUsage, err)
	}
	dir := c.Audit(os.Getenv)
	if dir == "" {
		return failf(exitFailed, "there is no audit log: no home is known, and the config names no auditDir")
	}
	since := time.Now().Add(-o.since)
	from := since
	if o.output == "markdown" {
		from = since.Add(-noteReach)
	}
	o.filter.Verb = actions.Verb(o.verb)
	records, odd, err := audit.Open(dir).Read(from, o.filter)
	if err != nil {
		return fail(exitFailed, err)
	}
	if odd > 0 {
		fmt.Fprintf(a.stderr, "gpuctl: %d lines of the audit log in %s could not be understood\n", odd, dir)
	}
	switch o.output {
	case "markdown":
		err = audit.Note(a.stdout, records, since)
	case "json":
		err = printObject(a.stdout, "json", map[string]any{"kind": "AuditList", "items": records})
	default:
		err = audit.Table(a.stdout, records)
	}
	return fail(exitFailed, err)
}
