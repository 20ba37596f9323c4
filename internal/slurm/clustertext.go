package slurm

import (
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// textPartitions reads "scontrol show partition".
func textPartitions(text string) []fleet.Partition {
	records, _ := splitEntries(text, "PartitionName")
	out := make([]fleet.Partition, 0, len(records))
	for _, raw := range records {
		e := parseEntry(raw)
		var odd notes
		out = append(out, fleet.Partition{
			Name:         e.get("PartitionName"),
			State:        e.get("State"),
			Default:      e.get("Default") == "YES",
			NodeList:     e.get("Nodes"),
			MaxTime:      odd.limit("MaxTime", e.get("MaxTime")),
			DefaultTime:  odd.limit("DefaultTime", e.get("DefaultTime")),
			PriorityTier: int(odd.number("PriorityTier", e.get("PriorityTier"))),
			PreemptMode:  e.get("PreemptMode"),
			GraceTime:    time.Duration(odd.number("GraceTime", e.get("GraceTime"))) * time.Second,
		})
	}
	return out
}

// textReservations reads "scontrol show reservation".
func textReservations(text string) []fleet.Reservation {
	records, _ := splitEntries(text, "ReservationName")
	out := make([]fleet.Reservation, 0, len(records))
	for _, raw := range records {
		e := parseEntry(raw)
		var odd notes
		out = append(out, fleet.Reservation{
			Name:     e.get("ReservationName"),
			NodeList: e.get("Nodes"),
			Start:    odd.time("StartTime", e.get("StartTime")),
			End:      odd.time("EndTime", e.get("EndTime")),
			Flags:    words(e.get("Flags")),
			Users:    words(e.get("Users")),
			Accounts: words(e.get("Accounts")),
			State:    e.get("State"),
		})
	}
	return out
}

// settings is slurm.conf as slurmctld runs it, from "scontrol show config".
type settings struct {
	asOf   time.Time // slurmctld's clock when it answered
	values map[string]string
}

// textSettings reads "scontrol show config".
func textSettings(text string) settings {
	s := settings{values: make(map[string]string, 200)}
	for line := range strings.SplitSeq(text, "\n") {
		if at, ok := strings.CutPrefix(line, "Configuration data as of "); ok {
			s.asOf, _ = parseTime(at)
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok {
			s.values[strings.TrimSpace(key)] = clean(strings.TrimSpace(value))
		}
	}
	return s
}

// textQOS reads sacctmgr's QOS rows, whose columns are qosColumns.
func textQOS(text string) []fleet.QOS {
	var out []fleet.QOS
	for line := range strings.SplitSeq(text, "\n") {
		f := strings.Split(line, "|")
		if len(f) < 8 || f[0] == "" {
			continue
		}
		var odd notes
		grace, _ := ParseLimit(f[5])
		out = append(out, fleet.QOS{
			Name:             f[0],
			Priority:         odd.number("Priority", f[1]),
			GPUsPerUser:      gpuLimit(parseTRES(f[2]).GRES),
			GPUsPerGroup:     gpuLimit(parseTRES(f[3]).GRES),
			PreemptableQOS:   words(f[4]),
			GraceTime:        grace.Duration,
			MaxJobsPerUser:   countLimit(f[6]),
			MaxSubmitPerUser: countLimit(f[7]),
		})
	}
	return out
}

// qosColumns are asked of sacctmgr(1) in this order.
const qosColumns = "name,priority,maxtrespu,grptres,preempt,gracetime,maxjobspu,maxsubmitpu"

// gpuLimit finds the limit on whole GPUs among the resources of a limit; -1: none.
func gpuLimit(list []fleet.GRES) int {
	if !slices.ContainsFunc(list, func(g fleet.GRES) bool { return g.Name == "gpu" && !isMIG(g) }) {
		return -1
	}
	n, _ := countGPUs(list)
	return n
}

// countLimit reads a limit; -1: none.
func countLimit(text string) int {
	if n, ok := parseCount(text); ok {
		return int(n)
	}
	return -1
}
