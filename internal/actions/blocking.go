package actions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// blockers is all that policy and the state of the sources have against the plan
// now. It is asked when the plan is made, and again when it is to run.
func (e *Engine) blockers(p *Plan, snap *fleet.Snapshot) []Blocker {
	var out []Blocker
	pol := &e.opts.Policy
	if pol.ReadOnly != "" {
		out = append(out, Blocker{Code: BlockReadOnly, Text: "gpuctl is read-only: " + pol.ReadOnly})
	}
	for _, cluster := range p.clusters() {
		if why := pol.Clusters[cluster].ReadOnly; why != "" {
			out = append(out, Blocker{Code: BlockReadOnly, Cluster: cluster, Text: cluster + " is read-only: " + why})
		}
		if b := sourceBlocker(snap, cluster, e.opts.Now()); b != nil {
			out = append(out, *b)
		}
	}
	if pol.TicketRequired && strings.TrimSpace(p.Request.Options.Ticket) == "" {
		out = append(out, Blocker{Code: BlockInput, Text: "a ticket is required here: give one with --ticket"})
	}
	if b := e.auditBlocker(); b != nil {
		return append(out, *b)
	}
	return append(out, e.capBlockers(p, snap)...)
}

// auditBlocker refuses what could not be recorded.
func (e *Engine) auditBlocker() *Blocker {
	why := "there is no audit log"
	if e.opts.Auditor != nil {
		err := e.opts.Auditor.Ready()
		if err == nil {
			return nil
		}
		why = err.Error()
	}
	return &Blocker{Code: BlockAudit, Text: "what cannot be recorded is not done: " + why}
}

// sourceBlocker refuses a cluster whose source is not live; nil when it is.
func sourceBlocker(snap *fleet.Snapshot, cluster string, now time.Time) *Blocker {
	src := snap.SourceOf(cluster)
	var text string
	switch {
	case src == nil || src.LastSuccess.IsZero():
		text = cluster + " has not answered yet"
	case src.Usable():
		return nil
	default:
		text = fmt.Sprintf("%s is %s: what is shown is %s old", cluster, src.Status, age(src.Age(now)))
	}
	if src != nil && src.LastError != "" {
		text += " (" + src.LastError + ")"
	}
	return &Blocker{Code: BlockSource, Cluster: cluster, Text: text + "; wait until it is live again"}
}

// capBlockers refuses more nodes in a window than the config allows, counting
// those of earlier plans (C70: a rule that matched every node drained them all).
func (e *Engine) capBlockers(p *Plan, snap *fleet.Snapshot) []Blocker {
	limits := e.opts.Policy.Limits
	if !p.Verb.TakesNodesAway() {
		return nil
	}
	var out []Blocker
	for _, cluster := range p.clusters() {
		total := nodesOf(snap, cluster)
		most := limits.allowed(total)
		wanted := p.nodesActedOn(cluster)
		if most < 0 || len(wanted) == 0 {
			continue
		}
		before, err := e.opts.Auditor.Touched(cluster, e.opts.Now().Add(-limits.Window))
		if err != nil {
			out = append(out, Blocker{
				Code: BlockAudit, Cluster: cluster,
				Text: "what was drained before cannot be read: " + err.Error(),
			})
			continue
		}
		if all := addNew(slices.Clone(before), wanted...); len(all) > most {
			out = append(out, Blocker{Code: BlockCap, Cluster: cluster, Text: fmt.Sprintf(
				"%d nodes of %s would be out of service within %s (%d before, %d now), at most %d of %d are allowed; type the cluster's name to override",
				len(all), cluster, age(limits.Window), len(before), len(all)-len(before), most, total)})
		}
	}
	return out
}

// nodesActedOn are the distinct nodes of the cluster that the plan does something to.
func (p *Plan) nodesActedOn(cluster string) []string {
	seen := map[string]bool{}
	var names []string
	for _, t := range p.Targets {
		if t.Fate == FateAct && t.Target.Kind == fleet.KindNode && t.Target.Cluster == cluster && !seen[t.Target.Name] {
			seen[t.Target.Name] = true
			names = append(names, t.Target.Name)
		}
	}
	return names
}

// clusters are those of the request, in its order.
func (p *Plan) clusters() []string {
	var names []string
	for _, t := range p.Request.Targets {
		names = addNew(names, t.Cluster)
	}
	return names
}

// nodesOf counts the nodes that the cluster knows.
func nodesOf(snap *fleet.Snapshot, cluster string) int {
	count := 0
	for _, n := range snap.Nodes {
		if n.View(cluster) != nil {
			count++
		}
	}
	return count
}
