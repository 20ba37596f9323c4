package slurm

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// textNodes reads "scontrol -d show node", on many lines or one a node. A
// record that cannot be read is kept with its raw text. rest is what stands before
// the first record.
func textNodes(text string) (views []fleet.View, rest string) {
	records, rest := splitEntries(text, "NodeName")
	views = make([]fleet.View, 0, len(records))
	for _, raw := range records {
		// A copy, or one unchanged row would keep the whole answer in memory.
		views = append(views, entryView(parseEntry(strings.Clone(raw))))
	}
	return views, rest
}

// entryView makes a view of one node record.
func entryView(e *entry) fleet.View {
	odd := notes(e.odd)
	state := parseNodeState(e.get("State"))
	odd.add(state.Odd...)
	v := fleet.View{
		Kind:     fleet.Slurm,
		Node:     e.get("NodeName"),
		Base:     state.Base,
		Flags:    state.Flags,
		Reason:   parseReason(e.fields["Reason"]),
		Queues:   words(e.get("Partitions")),
		GRES:     odd.gres(e.get("Gres")),
		UsedGRES: odd.gres(e.get("GresUsed")),
		Features: words(e.get("ActiveFeatures", "AvailableFeatures")),
		Address:  e.get("NodeAddr"),
		Version:  e.get("Version"),
		OS:       e.get("OS"),
		Booted:   odd.time("BootTime", e.get("BootTime")),
		DaemonUp: odd.time("SlurmdStartTime", e.get("SlurmdStartTime")),
		LastBusy: odd.time("LastBusyTime", e.get("LastBusyTime")),
		Comment:  e.get("Comment"),
		Resv:     e.get("ReservationName"),
		Raw:      e.raw,
	}
	if v.Node == "" {
		odd.add("record has no node name")
	}
	v.CPUs = fleet.CPUCount{
		Total:     int(odd.number("CPUTot", e.get("CPUTot"))),
		Allocated: int(odd.number("CPUAlloc", e.get("CPUAlloc"))),
	}
	v.Memory = fleet.MemoryCount{
		Total:     odd.number("RealMemory", e.get("RealMemory")),
		Allocated: odd.number("AllocMem", e.get("AllocMem")),
		Free:      -1,
	}
	if free, ok := parseCount(e.get("FreeMem")); ok {
		v.Memory.Free = free
	}
	v.Load = load(e.get("CPULoad"))
	v.GPUs = nodeGPUs(&v, odd.tres(e.get("CfgTRES")), odd.tres(e.get("AllocTRES")), &odd)
	v.Oddities = odd
	return v
}

// load reads a load average; NaN when not told.
func load(text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// nodeGPUs counts whole GPUs. The GRES lists know types, so they come first; TRES
// stands in where the answer has no such list. More in use than there are, as when
// a node was configured anew under its jobs, is noted and not counted.
func nodeGPUs(v *fleet.View, cfg, alloc tres, odd *notes) fleet.GPUCount {
	total, model := countGPUs(v.GRES)
	if len(v.GRES) == 0 {
		total, model = countGPUs(cfg.GRES)
	}
	used, _ := countGPUs(v.UsedGRES)
	if len(v.UsedGRES) == 0 {
		used, _ = countGPUs(alloc.GRES)
	}
	if hasMIGOnly(v.GRES) {
		used = 0 // a bare gres/gpu total counts slices there
	}
	if used > total {
		odd.add(fmt.Sprintf("%d GPUs are in use of %d", used, total))
		used = total
	}
	return fleet.GPUCount{Total: total, Allocated: used, Model: model}
}

// hasMIGOnly reports a node whose GPUs are all sliced.
func hasMIGOnly(list []fleet.GRES) bool {
	mig := false
	for _, g := range list {
		switch {
		case isMIG(g):
			mig = true
		case g.Name == "gpu":
			return false
		}
	}
	return mig
}
