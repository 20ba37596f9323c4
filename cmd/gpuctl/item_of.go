package main

import (
	"github.com/gpuctl/gpuctl/internal/fleet"
)

func clusterItemOf(s *fleet.Snapshot, c *fleet.Cluster) clusterItem {
	item := clusterItem{
		Name: c.Name, Kind: string(c.Kind), Version: c.Version, Native: c.Native,
		Identity:   identityItem{User: c.Identity.User, Role: string(c.Identity.Role), Via: c.Identity.Via},
		SkewMS:     c.Skew.Milliseconds(),
		Partitions: []partitionItem{}, QOS: c.QOS, Stats: c.Stats,
	}
	for i := range c.Partitions {
		p := &c.Partitions[i]
		item.Partitions = append(item.Partitions, partitionItem{
			Name: p.Name, State: p.State, Default: p.Default, Nodes: p.NodeList,
			PriorityTier: p.PriorityTier, PreemptMode: p.PreemptMode, GraceSeconds: int64(p.GraceTime.Seconds()),
		})
	}
	for _, n := range s.Nodes {
		if v := n.View(c.Name); v != nil {
			item.Nodes++
			item.GPUs.Total += v.GPUs.Total
			item.GPUs.Allocated += v.GPUs.Allocated
		}
	}
	for _, j := range s.Jobs {
		if j.Key.Cluster == c.Name {
			item.Jobs++
		}
	}
	return item
}

func nodeItemOf(s *fleet.Snapshot, n *fleet.Node) nodeItem {
	item := nodeItem{
		Name: n.Name, States: []stateItem{}, GPUs: []gpuItem{}, Agent: agentItemOf(n.Agent),
		Disagree: n.Disagree != "", Why: n.Disagree,
	}
	for i := range n.Views {
		item.States = append(item.States, stateItemOf(&n.Views[i]))
	}
	for i := range n.GPUs {
		item.GPUs = append(item.GPUs, gpuItemOf(s, n, &n.GPUs[i]))
	}
	item.Findings = findingIDs(s, fleet.KindNode, n.Name)
	for i := range item.GPUs {
		item.Findings = append(item.Findings, item.GPUs[i].Findings...)
	}
	return item
}

func stateItemOf(v *fleet.View) stateItem {
	return stateItem{
		Cluster: v.Cluster, Kind: string(v.Kind), Node: v.Node, Base: v.Base, Flags: strs(v.Flags), Drained: v.Drained(),
		Reason:   reasonItem{Text: v.Reason.Text, Author: v.Reason.Author, At: when(v.Reason.At)},
		Queues:   strs(v.Queues),
		GPUs:     gpuCount{Total: v.GPUs.Total, Allocated: v.GPUs.Allocated},
		CPUs:     gpuCount{Total: v.CPUs.Total, Allocated: v.CPUs.Allocated},
		MemMiB:   memItem{Total: v.Memory.Total, Allocated: v.Memory.Allocated},
		Features: strs(v.Features), Version: v.Version, Booted: when(v.Booted), Oddities: v.Oddities,
	}
}

func jobItemOf(j *fleet.Job) jobItem {
	item := jobItem{
		Cluster: j.Key.Cluster, Kind: string(j.Kind), ID: j.ID, Name: j.Name, User: j.User, Account: j.Account,
		Queue: j.Queue, QOS: j.QOS, Base: j.Base, Flags: strs(j.Flags),
		Reason: jobReason{Code: j.Reason.Code, Text: j.Reason.Text},
		GPUs:   jobGPUs{Wanted: j.GPUs.Wanted, Held: j.GPUs.Held},
		Nodes:  strs(j.Nodes), NodeCount: j.NodeCount,
		Submitted: when(j.Submitted), Started: when(j.Started), Ended: when(j.Ended), EstStart: when(j.EstStart),
		Restarts: j.Restarts, Priority: j.Priority, Signal: j.Signal, Oddities: j.Oddities,
	}
	if j.Limit.Kind == fleet.LimitSet {
		s := int64(j.Limit.Duration.Seconds())
		item.Limit = &s
	}
	if j.Done() && j.ExitCode >= 0 {
		item.Exit = &j.ExitCode
	}
	if a := j.Array; a != nil {
		item.Array = &arrayItem{JobID: a.JobID, Tasks: a.Tasks, Count: a.Count, Limit: a.Limit}
		if a.Task >= 0 {
			item.Array.Task = &a.Task
		}
	}
	return item
}

func findingItemOf(f *fleet.Finding) findingItem {
	return findingItem{
		ID: f.ID, Rule: f.Rule, Severity: f.Severity.String(), Subject: subjectItemOf(f.Subject), Title: f.Title,
		Evidence: strs(f.Evidence), Since: when(f.Since),
		Blast:  blastItem{GPUs: f.Blast.GPUs, Jobs: f.Blast.Jobs, Users: strs(f.Blast.Users)},
		Advice: f.Advice, Actions: strs(f.Actions),
	}
}

func eventItemOf(e *fleet.Event) eventItem {
	return eventItem{
		At: e.At.UTC(), Source: e.Source, Subject: subjectItemOf(e.Subject), What: e.What,
		Before: e.Before, After: e.After, Author: e.Author,
	}
}

func subjectItemOf(s fleet.Subject) subjectItem {
	return subjectItem{Kind: string(s.Kind), Cluster: s.Cluster, Name: s.Name}
}
