package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

type getOptions struct {
	filter, sortBy, output string
	watch                  bool
	cluster                string
}

func newGet(a *app) *cobra.Command {
	var o getOptions
	var names []string
	for _, r := range resources() {
		names = append(names, r.name)
	}
	cmd := &cobra.Command{
		Use:   "get RESOURCE [NAME...]",
		Short: "List " + strings.Join(names, ", "),
		Long: "List what the clusters say, joined. RESOURCE is one of " + strings.Join(names, ", ") + ".\n" +
			"NAME narrows it: node names and host lists (gpu-node[001-004]), job ids as squeue shows them.",
		Example: "  gpuctl get nodes --filter 'state:drain'\n  gpuctl get jobs --filter 'user==alice gpus>=8' --sort-by gpus -o wide\n  gpuctl get queue -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return failf(exitUsage, "get what? There are %s", strings.Join(names, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.get(cmd.Context(), args[0], args[1:], o) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return withPrefix(names, prefix), cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeNames(cmd.Context(), args[0], prefix)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.filter, "filter", "", "show only what matches, in the filter language (state:drain, gpus>=8, user==alice)")
	f.StringVar(&o.sortBy, "sort-by", "", "sort by a field; -FIELD for the other way round")
	f.StringVarP(&o.output, "output", "o", "table", "output format: "+strings.Join(formats, ", "))
	f.BoolVarP(&o.watch, "watch", "w", false, "print again on every change, until interrupted")
	f.StringVar(&o.cluster, "cluster", "", "only this cluster")
	_ = cmd.RegisterFlagCompletionFunc("output", fixed(formats...))
	return cmd
}

func (a *app) get(ctx context.Context, word string, names []string, o getOptions) error {
	r, err := findResource(word)
	if err != nil {
		return err
	}
	if err = checkFormat(o.output, formats...); err != nil {
		return err
	}
	query, err := r.query(o.filter)
	if err != nil {
		return err
	}
	if err = r.checkSort(o.sortBy); err != nil {
		return err
	}
	a.agents.none = !r.agents
	s, err := a.open(ctx, o.cluster)
	if err != nil {
		return err
	}
	defer s.close()
	if o.watch {
		return a.watch(ctx, s, r, query, names, o)
	}
	wait := s.first
	if r.facts {
		wait = s.facts
	}
	snap, err := wait(ctx)
	if err != nil {
		return err
	}
	if err := a.show(r, query, names, o, snap); err != nil {
		return err
	}
	return a.trouble(snap)
}

// show prints one snapshot.
func (a *app) show(r *resource, q fleet.Query, names []string, o getOptions, snap *fleet.Snapshot) error {
	now := time.Now()
	rows, err := r.selected(snap, now, names)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(x row) bool { return !q.Match(x.match) })
	sortRows(rows, o.sortBy)
	if err := printRows(a.stdout, o.output, r, rows, snap, now); err != nil {
		return err
	}
	if r.name == "mig" && len(rows) == 0 {
		fmt.Fprintln(a.stderr, "gpuctl: "+noMIG(snap))
	}
	return nil
}

// watch prints every change until interrupted, which is no error.
func (a *app) watch(ctx context.Context, s *session, r *resource, q fleet.Query, names []string, o getOptions) error {
	first, err := s.first(ctx)
	if err != nil {
		return err
	}
	changes, stop := s.store.Subscribe()
	defer stop()
	if err := a.show(r, q, names, o, first); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case snap := <-changes:
			if snap == nil || snap.Seq <= first.Seq {
				continue
			}
			if err := a.show(r, q, names, o, snap); err != nil {
				return err
			}
		}
	}
}

// query parses the filter and checks its fields. On the command line a filter that
// is not understood is an error: a script must not act on a list it did not mean.
func (r *resource) query(text string) (fleet.Query, error) {
	q, err := fleet.ParseQuery(text)
	if err == nil {
		err = q.Check(r.filterFields())
	}
	return q, fail(exitUsage, err)
}

// selected is the rows that the names mean, all of them without names.
func (r *resource) selected(s *fleet.Snapshot, now time.Time, names []string) ([]row, error) {
	rows := r.rows(s, now)
	if len(names) == 0 {
		return rows, nil
	}
	pick := r.pick
	if pick == nil {
		pick = pickByName
	}
	var picked []row
	var errs []error
	for _, name := range names {
		some, err := pick(s, rows, name)
		if err != nil {
			errs = append(errs, err)
		}
		picked = append(picked, some...)
	}
	if len(errs) > 0 {
		return nil, joinFailures(errs)
	}
	return picked, nil
}

// joinFailures keeps the exit code of the first.
func joinFailures(errs []error) error {
	if e, ok := errors.AsType[*exitError](errs[0]); ok {
		return fail(e.code, errors.Join(errs...))
	}
	return errors.Join(errs...)
}

func pickByName(_ *fleet.Snapshot, rows []row, name string) ([]row, error) {
	for _, r := range rows {
		if r.name == name {
			return []row{r}, nil
		}
	}
	return nil, failf(exitFailed, "nothing is called %q", name)
}

func (r *resource) checkSort(by string) error {
	name := strings.ToLower(strings.TrimPrefix(by, "-"))
	if name == "" {
		return nil
	}
	var known []string
	for _, f := range r.filterFields() {
		if f.Name == name || slices.Contains(f.Aliases, name) {
			return nil
		}
		known = append(known, f.Name)
	}
	return failf(exitUsage, "cannot sort %s by %q; fields are %s", r.name, name, strings.Join(known, ", "))
}

// sortRows sorts by a field's value, absent ones last whichever way.
func sortRows(rows []row, by string) {
	if by == "" {
		return
	}
	name, sign := strings.ToLower(strings.TrimPrefix(by, "-")), 1
	if strings.HasPrefix(by, "-") {
		sign = -1
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		va, _ := a.match.Field(name)
		vb, _ := b.match.Field(name)
		if va.Absent != vb.Absent {
			if va.Absent {
				return 1
			}
			return -1
		}
		return sign * compareValues(va, vb)
	})
}

func compareValues(a, b fleet.Value) int {
	switch a.Kind {
	case fleet.KindNumber, fleet.KindDuration, fleet.KindSize:
		return cmp.Compare(a.Num, b.Num)
	case fleet.KindText, fleet.KindState:
	}
	return fleet.CompareNatural(a.Text+strings.Join(a.List, ","), b.Text+strings.Join(b.List, ","))
}

// trouble says on stderr which sources are not live, and makes that the exit code.
func (a *app) trouble(snap *fleet.Snapshot) error {
	bad := false
	for i := range snap.Sources {
		src := &snap.Sources[i]
		if src.Usable() {
			continue
		}
		bad = true
		say(a.stderr, "gpuctl: %s is %s: %s", src.Name, src.Status, cmp.Or(src.LastError, "no answer yet"))
	}
	if bad {
		return &exitError{code: exitSource}
	}
	return nil
}
