package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// formats are the values of -o.
var formats = []string{"table", "wide", "json", "yaml", "name"}

func checkFormat(f string, among ...string) error {
	if !slices.Contains(among, f) {
		return failf(exitUsage, "no output format %q; there are %s", f, strings.Join(among, ", "))
	}
	return nil
}

// printRows writes rows in the format.
func printRows(w io.Writer, format string, r *resource, rows []row, s *fleet.Snapshot, now time.Time) error {
	switch format {
	case "name":
		for _, x := range rows {
			fmt.Fprintln(w, x.name)
		}
		return nil
	case "json", "yaml":
		return printObject(w, format, listOf(r, rows, s, now))
	}
	return printTable(w, format == "wide", r.columns, rows)
}

func listOf(r *resource, rows []row, s *fleet.Snapshot, now time.Time) list {
	l := list{Kind: r.listKind, At: now.UTC(), Sources: sourceItems(s, now), Items: make([]any, len(rows))}
	for i := range rows {
		l.Items[i] = rows[i].item
	}
	return l
}

// printObject writes one JSON object or one YAML document.
func printObject(w io.Writer, format string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fail(exitFailed, fmt.Errorf("encode: %w", err))
	}
	if format == "yaml" {
		if b, err = yaml.JSONToYAML(b); err != nil {
			return fail(exitFailed, fmt.Errorf("encode: %w", err))
		}
		b = append([]byte("---\n"), b[:len(b)-1]...)
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

func printTable(w io.Writer, wide bool, columns []column, rows []row) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(cell func(i int) string) {
		var cells []string
		for i, c := range columns {
			if !c.wide || wide {
				cells = append(cells, cell(i))
			}
		}
		fmt.Fprintln(tw, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	line(func(i int) string { return columns[i].title })
	for _, r := range rows {
		line(func(i int) string { return r.cells[i] })
	}
	return tw.Flush()
}
