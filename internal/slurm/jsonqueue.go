package slurm

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// decodePartitions reads an answer with "partitions".
func decodePartitions(r io.Reader) ([]fleet.Partition, answer, error) {
	return decodeList(r, "partitions", partitionOf)
}

// partitionOf makes a partition of a flat record (v0.0.38) or a nested one. From
// v0.0.39 to v0.0.44 neither the default flag nor the preemption mode is told.
func partitionOf(r record) fleet.Partition {
	p := fleet.Partition{
		Name:         r.text("name"),
		State:        strings.ToUpper(r.text("state")),
		NodeList:     r.text("nodes"),
		MaxTime:      r.limit("max_time_limit"),
		DefaultTime:  r.limit("default_time_limit"),
		PriorityTier: r.count("priority_tier"),
		PreemptMode:  preemptMode(r.words("preempt_mode", "preemption_mode")),
		GraceTime:    r.span(time.Second, "grace_time", "preemption_grace_time"),
	}
	for _, f := range r.words("flags") {
		p.Default = p.Default || strings.EqualFold(f, "default")
	}
	if !r.has("partition") {
		return p
	}
	p.State = strings.ToUpper(r.at("partition").text("state"))
	p.NodeList = r.at("nodes").text("configured")
	p.MaxTime = r.at("maximums").limit("time")
	p.DefaultTime = r.at("defaults").limit("time")
	p.PriorityTier = r.at("priority").count("tier")
	return p
}

// preemptMode writes a preemption mode as scontrol(1) does.
func preemptMode(words []string) string {
	mode := strings.ToUpper(strings.Join(words, ","))
	if mode == "DISABLED" {
		return "OFF"
	}
	return mode
}

// decodeReservations reads an answer with "reservations". Whether one is active is
// not told; it follows from now.
func decodeReservations(r io.Reader, now time.Time) ([]fleet.Reservation, answer, error) {
	return decodeList(r, "reservations", func(r record) fleet.Reservation {
		v := fleet.Reservation{
			Name:     r.text("name"),
			NodeList: r.text("node_list"),
			Start:    r.time("start_time"),
			End:      r.time("end_time"),
			Flags:    r.words("flags"),
			Users:    r.words("users"),
			Accounts: r.words("accounts"),
			State:    "INACTIVE",
		}
		if !now.Before(v.Start) && now.Before(v.End) {
			v.State = "ACTIVE"
		}
		return v
	})
}

// decodeStats reads an answer with "statistics" (sdiag, GET diag).
func decodeStats(r io.Reader) (fleet.SchedulerStats, answer, error) {
	var s fleet.SchedulerStats
	a, err := decodeAnswer(r, "statistics", func(raw json.RawMessage) { s = statsOf(newRecord(raw)) })
	return s, a, err
}

// statsOf makes statistics of their record. Slurm gives durations in microseconds.
func statsOf(r record) fleet.SchedulerStats {
	const us = time.Microsecond
	s := fleet.SchedulerStats{
		At:             r.time("req_time"),
		ServerThreads:  r.count("server_thread_count"),
		AgentQueue:     r.count("agent_queue_size"),
		DBDQueue:       r.count("dbd_agent_queue_size"),
		CycleLast:      r.span(us, "schedule_cycle_last"),
		CycleMean:      r.span(us, "schedule_cycle_mean"),
		CycleMax:       r.span(us, "schedule_cycle_max"),
		QueueDepth:     r.count("schedule_queue_length"),
		BackfillLast:   r.span(us, "bf_cycle_last"),
		BackfillMean:   r.span(us, "bf_cycle_mean"),
		BackfillDepth:  r.count("bf_last_depth", "bf_depth_mean"),
		BackfillActive: r.flag("bf_active"),
		LastBackfill:   r.time("bf_when_last_cycle"),
		JobsPending:    r.count("jobs_pending"),
		JobsRunning:    r.count("jobs_running"),
	}
	for _, c := range r.list("rpcs_by_message_type") {
		s.RPCs = append(s.RPCs, fleet.RPCCount{
			Name:  c.text("message_type"),
			Count: c.count("count"),
			Mean:  c.span(us, "average_time"),
		})
	}
	slices.SortStableFunc(s.RPCs, func(a, b fleet.RPCCount) int { return b.Count - a.Count })
	return s
}

// decodeConfig reads an answer with "slurm_conf" (since v0.0.45) and gives the lines
// that Hello tells, in the words of scontrol(1).
func decodeConfig(r io.Reader) (map[string]string, answer, error) {
	conf := map[string]string{}
	a, err := decodeAnswer(r, "slurm_conf", func(raw json.RawMessage) {
		rec := newRecord(raw)
		for _, key := range helloSettings {
			if v := settingOf(rec, key); v != "" {
				conf[key] = v
			}
		}
	})
	return conf, a, err
}

// settingOf reads one line of slurm.conf.
func settingOf(r record, key string) string {
	switch key {
	case "KillWait", "MinJobAge":
		if n := r.num(key); n.told {
			return fmt.Sprintf("%d sec", n.n)
		}
		return ""
	}
	switch v := r.text(key); v {
	case "true", "non_responsive_only": // ReturnToService=1
		return "1"
	case "false":
		return "0"
	default:
		return v
	}
}
