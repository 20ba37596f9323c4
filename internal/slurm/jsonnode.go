package slurm

import (
	"cmp"
	"math"
	"slices"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// nodeOf makes a view of one element of "nodes".
func nodeOf(r record) fleet.View {
	state := parseNodeState(append(r.words("state"), r.words("state_flags")...)...)
	gres, oddGRES := parseGRES(r.text("gres"))
	used, oddUsed := parseGRES(r.text("gres_used"))
	total, alloc := parseTRES(r.text("tres")), parseTRES(r.text("tres_used"))
	v := fleet.View{
		Kind:     fleet.Slurm,
		Node:     r.text("name"),
		Base:     state.Base,
		Flags:    inFlagOrder(state.Flags),
		Reason:   nodeReason(r),
		Queues:   r.words("partitions"),
		GRES:     gres,
		UsedGRES: used,
		CPUs:     fleet.CPUCount{Total: r.count("cpus"), Allocated: r.count("alloc_cpus")},
		Memory: fleet.MemoryCount{
			Total:     r.num("real_memory").or(0),
			Allocated: r.num("alloc_memory").or(0),
			Free:      r.num("free_mem", "free_memory").or(-1),
		},
		Features: r.words("active_features", "features"),
		Address:  r.text("address"),
		Version:  r.text("version", "slurmd_version"),
		OS:       r.text("operating_system"),
		Booted:   r.time("boot_time"),
		DaemonUp: r.time("slurmd_start_time"),
		LastBusy: r.time("last_busy"),
		Load:     nodeLoad(r),
		Comment:  r.text("comment"),
		Resv:     r.text("reservation"),
	}
	var odd notes
	v.GPUs = nodeGPUs(&v, total, alloc, &odd)
	if v.Node == "" {
		r.note("name", r.value("name"))
	}
	v.Oddities = joinOdd(r.oddities(), state.Odd, oddGRES, oddUsed, total.Odd, alloc.Odd, odd)
	return v
}

// nodeReason reads why a node is out of service.
func nodeReason(r record) fleet.Reason {
	reason := parseReason(r.text("reason"))
	if reason.Text == "" || reason.Author != "" {
		return reason
	}
	reason.Author = r.text("reason_set_by_user")
	reason.At = r.time("reason_changed_at")
	return reason
}

// nodeLoad reads the load average, which slurmrestd gives in hundredths.
func nodeLoad(r record) float64 {
	n := r.num("cpu_load")
	if !n.told {
		return math.NaN()
	}
	return float64(n.n) / 100
}

// joinOdd joins lists of oddities; nil when all are empty.
func joinOdd(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// flagOrder is the order in which scontrol(1) prints the flags of a node. JSON has
// them in another, and one node is to read the same whichever way it came.
var flagOrder = []string{
	fleet.FlagBlocked, fleet.FlagCloud, fleet.FlagCompleting, fleet.FlagDrain, "DYNAMIC_FUTURE",
	"DYNAMIC_NORM", fleet.FlagInvalidReg, fleet.FlagFail, fleet.FlagMaintenance, "POWER_DOWN",
	"POWER_UP", "PERFCTRS", fleet.FlagPoweredDown, fleet.FlagRebootWanted, fleet.FlagRebootIssued,
	fleet.FlagReserved, "RESUME", fleet.FlagNotResponding, fleet.FlagPlanned,
	fleet.FlagPoweringUp, fleet.FlagPoweringDown,
}

// inFlagOrder sorts flags as scontrol does; unknown ones stay last, as they came.
func inFlagOrder(flags []string) []string {
	rank := func(f string) int {
		if i := slices.Index(flagOrder, f); i >= 0 {
			return i
		}
		return len(flagOrder)
	}
	slices.SortStableFunc(flags, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return flags
}
