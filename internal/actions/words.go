package actions

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Title is the plan in a few words: "drain gpu-node017", "cancel 12 jobs".
func (p *Plan) Title() string {
	targets := p.Request.Targets
	if len(targets) == 1 {
		return string(p.Verb) + " " + targets[0].Name
	}
	kind := "target"
	if len(targets) > 0 {
		kind = string(targets[0].Kind)
	}
	return fmt.Sprintf("%s %d %ss", p.Verb, len(targets), kind)
}

// Words is the outcome as people say it.
func (o Outcome) Words() string { return strings.ReplaceAll(string(o), "_", " ") }

// listWords joins at most limit of the names, and counts the rest.
func listWords(names []string, limit int) string {
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}

// addNew appends what is not in the list yet.
func addNew(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// age writes a duration as people say it: "42s", "3m10s", "2h5m".
func age(d time.Duration) string {
	if d >= time.Hour {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}
