package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/yaml"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/words"
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
			say(w, "%s", x.name)
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
	if format == "json" {
		b = escaped(b, func(r rune) string {
			if hi, lo := utf16.EncodeRune(r); r > 0xffff {
				return fmt.Sprintf(`\u%04x\u%04x`, hi, lo)
			}
			return fmt.Sprintf(`\u%04x`, r)
		})
	} else {
		b = escaped(b, func(r rune) string { return fmt.Sprintf(`\U%08x`, r) })
		if b, err = yaml.JSONToYAML(b); err != nil {
			return fail(exitFailed, fmt.Errorf("encode: %w", err))
		}
		b = append([]byte("---\n"), b[:len(b)-1]...)
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// escaped writes the characters of JSON that a terminal may act on, and that YAML does
// not take, as escapes: job names hold what their users typed.
func escaped(b []byte, escape func(rune) string) []byte {
	odd := func(r rune) bool {
		return r > '~' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r >= 0xfffe && r <= 0xffff)
	}
	if !bytes.ContainsFunc(b, odd) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if odd(r) {
			out.WriteString(escape(r))
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// say writes one line of text that may come from outside.
func say(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, oneLine(fmt.Sprintf(format, args...)))
}

// oneLine shows a text from outside on one line.
func oneLine(s string) string { return strings.Join(words.Lines(s), "␤") }

// printTable writes rows in columns as wide as a terminal shows their widest cell.
func printTable(w io.Writer, wide bool, columns []column, rows []row) error {
	var shown []int
	var widths []int
	for i, c := range columns {
		if !c.wide || wide {
			shown, widths = append(shown, i), append(widths, len(c.title))
		}
	}
	lines := make([][]string, 1, len(rows)+1)
	for _, i := range shown {
		lines[0] = append(lines[0], columns[i].title)
	}
	for _, r := range rows {
		var cells []string
		for at, i := range shown {
			cells = append(cells, oneLine(r.cells[i]))
			widths[at] = max(widths[at], line.Width(cells[at]))
		}
		lines = append(lines, cells)
	}
	out := bufio.NewWriter(w)
	for _, cells := range lines {
		var text strings.Builder
		for at, cell := range cells {
			text.WriteString(line.Fit(cell, widths[at]+2, ""))
		}
		fmt.Fprintln(out, strings.TrimRight(text.String(), " "))
	}
	return out.Flush()
}
