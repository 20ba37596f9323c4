package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

func clusterResource() resource {
	r := resource{
		name: "clusters", listKind: "ClusterList", facts: true,
		columns: []column{{title: "NAME"}, {title: "KIND"}, {title: "VERSION"}, {title: "AS"}, {title: "ROLE"}, {title: "VIA"}, {title: "NODES"}, {title: "GPUS"}, {title: "JOBS"}, {title: "STATUS"}, {title: "AGE"}},
	}
	r.rows = func(s *fleet.Snapshot, now time.Time) []row {
		var rows []row
		for i := range s.Clusters {
			c := &s.Clusters[i]
			item := clusterItemOf(s, c)
			status, age := "", words.None
			if src := s.SourceOf(c.Name); src != nil {
				status, age = string(src.Status), words.Age(now, src.LastSuccess)
			}
			cells := []string{
				c.Name, string(c.Kind), words.Or(c.Version), words.Or(c.Identity.User), string(c.Identity.Role), c.Identity.Via,
				strconv.Itoa(item.Nodes), fmt.Sprintf("%d/%d", item.GPUs.Allocated, item.GPUs.Total), strconv.Itoa(item.Jobs), status, age,
			}
			rows = append(rows, row{name: c.Name, item: item, cells: cells, match: &cellRow{r.columns, cells}})
		}
		return rows
	}
	return r
}

func nodeResource() resource {
	return resource{
		name: "nodes", aliases: []string{"machines", "machine", "no"}, listKind: "NodeList",
		columns: []column{
			{title: "NAME"},
			{title: "STATE"},
			{title: "GPUS"},
			{title: "MODEL"},
			{title: "QUEUES"},
			{title: "JOBS"},
			{title: "REASON"},
			{title: "BY", wide: true},
			{title: "SINCE", wide: true},
			{title: "CPUS", wide: true},
			{title: "MEM", wide: true},
			{title: "VERSION", wide: true},
			{title: "CLUSTER", wide: true},
		},
		fields: fleet.NodeFields(),
		rows: func(s *fleet.Snapshot, now time.Time) []row {
			rows := make([]row, 0, len(s.Nodes))
			for _, n := range s.Nodes {
				rows = append(rows, row{
					name: n.Name, item: nodeItemOf(s, n), cells: nodeCells(s, n, now),
					match: &fleet.NodeRow{Node: n, Snap: s, Now: now},
				})
			}
			return rows
		},
		pick: pickNodes,
	}
}

func nodeCells(s *fleet.Snapshot, n *fleet.Node, now time.Time) []string {
	if len(n.Views) == 0 {
		return []string{n.Name, words.None, words.None, words.None, words.None, words.None, "", "", "", "", "", "", ""}
	}
	v := &n.Views[0]
	var ids, clusters []string
	for _, j := range s.JobsOn(n.Name) {
		ids = append(ids, j.ID)
	}
	for i := range n.Views {
		clusters = append(clusters, n.Views[i].Cluster)
	}
	return []string{
		n.Name, words.NodeState(n), fmt.Sprintf("%d/%d", v.GPUs.Allocated, v.GPUs.Total), words.Or(v.GPUs.Model),
		words.Queues(v.Queues), words.Or(strings.Join(ids, ",")), v.Reason.Text,
		v.Reason.Author, words.Age(now, v.Reason.At), fmt.Sprintf("%d/%d", v.CPUs.Allocated, v.CPUs.Total),
		fmt.Sprintf("%d/%dG", v.Memory.Allocated>>10, v.Memory.Total>>10), v.Version, strings.Join(clusters, ","),
	}
}

// pickNodes keeps the nodes of a host list.
func pickNodes(_ *fleet.Snapshot, rows []row, name string) ([]row, error) {
	names, err := fleet.ExpandHosts(name, fleet.MaxHosts)
	if err != nil {
		return nil, fail(exitUsage, err)
	}
	byName := make(map[string]row, len(rows))
	for _, r := range rows {
		byName[r.name] = r
	}
	var picked []row
	for _, n := range names {
		r, ok := byName[n]
		if !ok {
			return nil, failf(exitFailed, "no node %q in the fleet", n)
		}
		picked = append(picked, r)
	}
	return picked, nil
}
