package audit

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// timeForm is how records are dated for people, in UTC.
const timeForm = "2006-01-02 15:04:05Z"

// Note writes the hand-over note of the shift since then in Markdown: what is
// still open, and what was done. records should reach back further than the shift: a
// node that was drained before it and never undrained is still open.
func Note(w io.Writer, records []Record, since time.Time) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "# Shift note since %s\n\n## Still open\n\n", since.UTC().Format(timeForm))
	acts := Acts(records)
	open := noteDrained(b, records)
	for i := range acts {
		if a := &acts[i]; !a.At.Before(since) && a.unsettled() && !a.settledBy(acts[i+1:]) {
			open++
			fmt.Fprintf(b, "- %s on %s, %s: %s", md(a.Title()), md(strings.Join(a.Clusters, ", ")),
				a.At.UTC().Format(timeForm), md(a.Outcome()))
			writeTail(b, a.Detail)
		}
	}
	if open == 0 {
		fmt.Fprintln(b, "Nothing.")
	}
	fmt.Fprint(b, "\n## What was done\n")
	done := 0
	for i := range acts {
		if a := &acts[i]; !a.At.Before(since) {
			done++
			a.note(b)
		}
	}
	if done == 0 {
		fmt.Fprint(b, "\nNothing.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// noteDrained lists the nodes out of service and returns how many they are.
func noteDrained(b *strings.Builder, records []Record) int {
	drained := outOfService(records)
	for _, r := range drained {
		fmt.Fprintf(b, "- %s on %s is out of service since %s by %s",
			md(r.Target.Name), md(r.Cluster), r.At.UTC().Format(timeForm), md(r.Who.User))
		writeTail(b, (&Act{Reason: r.Reason, Ticket: r.Ticket}).why())
	}
	return len(drained)
}

func writeTail(b *strings.Builder, text string) {
	if text != "" {
		fmt.Fprintf(b, ": %s", md(text))
	}
	fmt.Fprintln(b)
}

// note writes one act with its steps.
func (a *Act) note(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s %s: %s\n\n", a.At.UTC().Format(timeForm), md(a.Title()), md(a.Outcome()))
	item(b, "who", a.Who.String())
	item(b, "as", strings.Join(a.As, ", "))
	item(b, "where", strings.Join(a.Clusters, ", "))
	item(b, "why", a.why())
	item(b, "result", a.Detail)
	if a.Override != "" {
		item(b, "cap lifted for", a.Override)
	}
	item(b, "plan", a.Plan)
	if len(a.Steps) == 0 {
		return
	}
	fmt.Fprint(b, "\n| time | step | command | result | before | after |\n|---|---|---|---|---|---|\n")
	for _, s := range a.Steps {
		result := "no end recorded"
		if s.Result != "" {
			result = s.Result.Words()
		}
		if s.Detail != "" && s.Detail != s.After {
			result += ": " + s.Detail
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n",
			s.At.UTC().Format("15:04:05Z"), md(s.Name), md(s.Command), md(result), md(s.Before), md(s.After))
	}
}

func item(b *strings.Builder, name, text string) {
	if text != "" {
		fmt.Fprintf(b, "- %s: %s\n", name, md(text))
	}
}

// Table writes one line for each plan, for people.
func Table(w io.Writer, records []Record) error {
	// Errors of tw come out of Flush.
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "TIME\tWHO\tVERB\tTARGETS\tCLUSTER\tAS\tRESULT\tWHY")
	for _, a := range Acts(records) {
		cells := []string{
			a.At.UTC().Format(timeForm), a.Who.User, string(a.Verb), someOf(a.Targets), strings.Join(a.Clusters, ","),
			strings.Join(a.As, ", "), a.Outcome(), a.why(),
		}
		for i, c := range cells {
			if cells[i] = plain(c); cells[i] == "" {
				cells[i] = "-"
			}
		}
		_, _ = fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	return tw.Flush()
}

// someOf names the first few and counts the rest.
func someOf(names []string) string {
	const limit = 4
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}

// plain keeps what others wrote from steering the terminal or breaking the line.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
}

// md keeps what others wrote from being Markdown.
func md(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "<", "&lt;", "[", `\[`, "]", `\]`).Replace(plain(s))
}
