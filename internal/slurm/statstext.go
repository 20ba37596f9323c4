package slurm

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// textStats reads sdiag(1).
func textStats(text string) fleet.SchedulerStats {
	s := fleet.SchedulerStats{BackfillActive: strings.Contains(text, "middle of backfilling")}
	section := ""
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "*"):
		case strings.HasPrefix(line, "sdiag output at"):
			s.At = unixInParens(line)
		case strings.HasPrefix(line, "\t"):
			statLine(&s, section, strings.TrimSpace(line))
		default:
			section = line
			statLine(&s, "", line)
		}
	}
	slices.SortStableFunc(s.RPCs, func(a, b fleet.RPCCount) int { return cmp.Compare(b.Count, a.Count) })
	return s
}

// statLine takes one line of a section.
func statLine(s *fleet.SchedulerStats, section, line string) {
	key, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	n, _ := strconv.Atoi(value)
	micro := time.Duration(n) * time.Microsecond
	switch {
	case section == "":
		serverLine(s, key, n)
	case strings.HasPrefix(section, "Main schedule statistics"):
		mainLine(s, key, n, micro)
	case strings.HasPrefix(section, "Backfilling stats"):
		backfillLine(s, key, value, n, micro)
	case strings.HasPrefix(section, "Remote Procedure Call statistics by message type"):
		if rpc, ok := rpcLine(line); ok {
			s.RPCs = append(s.RPCs, rpc)
		}
	}
}

func serverLine(s *fleet.SchedulerStats, key string, n int) {
	switch key {
	case "Server thread count":
		s.ServerThreads = n
	case "Agent queue size":
		s.AgentQueue = n
	case "DBD Agent queue size":
		s.DBDQueue = n
	case "Jobs pending":
		s.JobsPending = n
	case "Jobs running":
		s.JobsRunning = n
	}
}

func mainLine(s *fleet.SchedulerStats, key string, n int, d time.Duration) {
	switch key {
	case "Last cycle":
		s.CycleLast = d
	case "Max cycle":
		s.CycleMax = d
	case "Mean cycle":
		s.CycleMean = d
	case "Last queue length":
		s.QueueDepth = n
	}
}

func backfillLine(s *fleet.SchedulerStats, key, value string, n int, d time.Duration) {
	switch key {
	case "Last cycle when":
		s.LastBackfill = unixInParens(value)
	case "Last cycle":
		s.BackfillLast = d
	case "Mean cycle":
		s.BackfillMean = d
	case "Last depth cycle":
		s.BackfillDepth = n
	}
}

// rpcLine reads "REQUEST_JOB_INFO ( 2003) count:10 ave_time:207 total_time:2075".
func rpcLine(line string) (fleet.RPCCount, bool) {
	name, rest, ok := strings.Cut(line, "(")
	if !ok {
		return fleet.RPCCount{}, false
	}
	r := fleet.RPCCount{Name: strings.TrimSpace(name)}
	for word := range strings.FieldsSeq(rest) {
		key, value, _ := strings.Cut(word, ":")
		n, _ := strconv.Atoi(value)
		switch key {
		case "count":
			r.Count = n
		case "ave_time":
			r.Mean = time.Duration(n) * time.Microsecond
		}
	}
	return r, true
}

// unixInParens reads the Unix time that sdiag puts behind its dates.
func unixInParens(text string) time.Time {
	_, rest, _ := strings.Cut(text, "(")
	digits, _, _ := strings.Cut(rest, ")")
	n, err := strconv.ParseInt(digits, 10, 40)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
