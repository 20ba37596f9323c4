package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/detail"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// gpuKey is what names on the command line may mean of a device beside its id.
type gpuKey struct{ node, place string }

func gpuResource() resource {
	return resource{
		name: "gpus", agents: true, listKind: "GPUList", fields: fleet.GPUFields(),
		columns: []column{
			{title: "NODE"},
			{title: "INDEX"},
			{title: "UUID"},
			{title: "PCI", wide: true},
			{title: "MODEL"},
			{title: "STATE"},
			{title: "TEMP"},
			{title: "POWER"},
			{title: "UTIL"},
			{title: "MEM"},
			{title: "OWNER"},
			{title: "USER"},
			{title: "FAULTS"},
			{title: "MIG", wide: true},
			{title: "AGE", wide: true},
		},
		rows: func(s *fleet.Snapshot, now time.Time) []row {
			var rows []row
			for _, n := range s.Nodes {
				for i := range n.GPUs {
					g := &n.GPUs[i]
					rows = append(rows, row{
						name: g.ID(), item: gpuItemOf(s, n, g), cells: gpuCells(n, g, now),
						match: &fleet.GPURow{GPU: g, Host: n}, key: gpuKey{n.Name, words.GPUName(g)},
					})
				}
			}
			return rows
		},
		pick: pickGPUs,
	}
}

func gpuCells(n *fleet.Node, g *fleet.GPU, now time.Time) []string {
	return []string{
		n.Name, strconv.Itoa(g.Index), words.ShortUUID(g.UUID), words.Or(g.PCI), words.Or(g.Model), words.GPUState(g),
		words.Reading(g.Temp, "C"), words.Reading(g.Power, "W"), words.Util(g), words.GPUMemory(g),
		words.GPUOwner(n, g), words.GPUUser(n, g), words.Or(words.Faults(g)), words.MIG(g.MIG), words.Age(now, n.ReadAt(g)),
	}
}

// pickGPUs takes a GPU's UUID or node:index, or a node's name for all of its GPUs.
func pickGPUs(_ *fleet.Snapshot, rows []row, name string) ([]row, error) {
	var picked []row
	for _, r := range rows {
		if k, ok := r.key.(gpuKey); r.name == name || ok && (k.node == name || k.place == name) {
			picked = append(picked, r)
		}
	}
	if len(picked) == 0 {
		return nil, failf(exitFailed, "no GPU and no node with GPUs is called %q", name)
	}
	return picked, nil
}

// migItem is one MIG instance with where it is.
type migItem struct {
	Node    string `json:"node"`
	GPU     int    `json:"gpu"`
	GPUUUID string `json:"gpu_uuid"`
	instanceItem
}

// migResource lists the MIG instances that node agents tell; Slurm does not.
func migResource() resource {
	r := resource{
		name: "mig", agents: true, listKind: "MIGList",
		columns: []column{
			{title: "NODE"},
			{title: "GPU"},
			{title: "PROFILE"},
			{title: "PLACEMENT"},
			{title: "INSTANCE"},
			{title: "COMPUTE"},
			{title: "MEM"},
			{title: "OWNER"},
			{title: "USER"},
			{title: "UUID", wide: true},
		},
		pick: pickGPUs,
	}
	r.rows = func(s *fleet.Snapshot, _ time.Time) []row {
		var rows []row
		for _, n := range s.Nodes {
			for i := range n.GPUs {
				g := &n.GPUs[i]
				for _, in := range fleet.ByPlace(g.MIG.Instances) {
					cells := instanceCells(g, &in)
					rows = append(rows, row{
						name: fmt.Sprintf("%s/%d", g.ID(), in.ID), item: migItem{n.Name, g.Index, g.UUID, instanceItemOf(g, &in)},
						cells: cells, match: &cellRow{r.columns, cells}, key: gpuKey{n.Name, words.GPUName(g)},
					})
				}
			}
		}
		return rows
	}
	return r
}

func instanceCells(g *fleet.GPU, in *fleet.MIGInstance) []string {
	owner, user := string(g.UseOfInstance(in)), words.None
	switch g.UseOfInstance(in) {
	case fleet.UseHeld:
		owner, user = words.Or(in.Owners[0].Job.ID), words.Or(in.Owners[0].User)
	case fleet.UseUnknown:
		owner, user = words.Unknown, words.Unknown
	case fleet.UseFree:
	}
	return []string{
		g.Node, strconv.Itoa(g.Index), in.Profile, fmt.Sprintf("%d:%d", in.Start, in.Size), strconv.Itoa(in.ID), strconv.Itoa(in.Compute),
		words.InstanceMemory(in), owner, user, words.Or(in.UUID),
	}
}

// noMIG says why there is no MIG instance to list.
func noMIG(s *fleet.Snapshot) string {
	for _, n := range s.Nodes {
		if n.Agent != nil {
			return "no GPU that an agent watches is partitioned"
		}
	}
	return "no node agent is configured, and Slurm does not tell MIG layouts"
}

// gpuLine is a device on one line of its node's description.
func gpuLine(n *fleet.Node, g *fleet.GPU) string {
	parts := []string{words.Or(g.Model)}
	if g.Health.State != fleet.GPUUnwatched {
		parts = append(parts, words.GPUState(g), words.Reading(g.Temp, "C"), words.Reading(g.Power, "W"), words.Util(g), words.GPUMemory(g))
	}
	for o := range g.Holders {
		text := "job " + o.Job.ID + " of " + o.User
		if !o.Proven {
			text += " (by index, unproven)"
		}
		parts = append(parts, text)
	}
	switch n.UseOf(g) {
	case fleet.UseFree:
		parts = append(parts, "free")
	case fleet.UseUnknown:
		parts = append(parts, "owner unknown")
	case fleet.UseHeld:
	}
	if f := words.Faults(g); f != "" {
		parts = append(parts, f)
	}
	return strings.Join(parts, "  ")
}

// describeGPU writes what the console's detail pane shows of a device.
func describeGPU(w io.Writer, s *fleet.Snapshot, id string, now time.Time) {
	g, n := s.GPU(id)
	if g == nil {
		return
	}
	for _, l := range detail.GPU(s, n, g, words.Moment{Now: now, Zone: words.Zones(nil)[0]}) {
		if l.Head {
			fmt.Fprintf(w, "\n%s\n", l.Text)
			continue
		}
		field(w, l.Label, l.Text)
	}
}
