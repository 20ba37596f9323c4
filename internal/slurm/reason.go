package slurm

import (
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// parseReason reads a node's reason as scontrol prints it:
// "text [user@2026-11-30T19:47:55]". The text is a person's and may hold brackets
// itself. Only exactly "none", "(null)" and nothing at all are no reason.
func parseReason(text string) fleet.Reason {
	text = strings.TrimSpace(text)
	switch text {
	case "", "none", "None", "(null)":
		return fleet.Reason{}
	}
	open := strings.LastIndexByte(text, '[')
	if open < 0 || !strings.HasSuffix(text, "]") {
		return fleet.Reason{Text: text}
	}
	author, at, ok := cutLast(text[open+1:len(text)-1], "@")
	when, err := parseTime(at)
	if !ok || err != nil {
		return fleet.Reason{Text: text}
	}
	return fleet.Reason{Text: strings.TrimSpace(text[:open]), Author: author, At: when}
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// parsePendingReason reads why a job is in its state: "Resources",
// "ReqNodeNotAvail, UnavailableNodes:gpu-node007", "(Priority)", and the sentences
// that some versions write ("job requeued in held state"), whose code is the
// sentence with underscores, as scontrol prints it.
func parsePendingReason(text string) fleet.PendingReason {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") && text != "(null)" {
		text = text[1 : len(text)-1]
	}
	switch text {
	case "", "None", "(null)", "N/A", "NONE":
		return fleet.PendingReason{}
	}
	code, rest, _ := strings.Cut(text, ",")
	rest = strings.Trim(rest, " _")
	if rest == "" || strings.ContainsAny(code, " _") {
		return fleet.PendingReason{Code: strings.ReplaceAll(text, " ", "_")}
	}
	if !strings.Contains(rest, ":") { // a sentence, no node names
		rest = strings.ReplaceAll(rest, "_", " ")
	}
	return fleet.PendingReason{Code: code, Text: rest}
}
