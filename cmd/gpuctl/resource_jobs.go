package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

func jobResource() resource {
	return resource{
		name: "jobs", aliases: []string{"workloads", "workload", "jo"}, listKind: "JobList",
		columns: []column{
			{title: "ID"},
			{title: "NAME"},
			{title: "USER"},
			{title: "QUEUE"},
			{title: "STATE"},
			{title: "GPUS"},
			{title: "NODES"},
			{title: "TIME"},
			{title: "LIMIT"},
			{title: "NODELIST(REASON)"},
			{title: "ACCOUNT", wide: true},
			{title: "QOS", wide: true},
			{title: "PRIORITY", wide: true},
			{title: "RESTARTS", wide: true},
			{title: "SUBMITTED", wide: true},
			{title: "CLUSTER", wide: true},
		},
		fields: fleet.JobFields(),
		rows: func(s *fleet.Snapshot, now time.Time) []row {
			rows := make([]row, 0, len(s.Jobs))
			for _, j := range s.Jobs {
				rows = append(rows, row{
					name: j.ID, item: jobItemOf(j), cells: jobCells(j, now),
					match: &fleet.JobRow{Job: j, Now: now}, key: j.Key,
				})
			}
			return rows
		},
		pick: pickJobs,
	}
}

func jobCells(j *fleet.Job, now time.Time) []string {
	return []string{
		j.ID, j.Name, j.User, j.Queue, words.JobState(j), strconv.Itoa(gpusOf(j)), strconv.Itoa(j.NodeCount),
		elapsed(j, now), words.Limit(j.Limit), whereOrWhy(j),
		j.Account, j.QOS, strconv.FormatInt(j.Priority, 10), strconv.Itoa(j.Restarts), stamp(j.Submitted), j.Key.Cluster,
	}
}

// gpusOf is what the job holds, or wants while it waits.
func gpusOf(j *fleet.Job) int {
	if j.Waiting() {
		return j.GPUs.Wanted
	}
	return max(j.GPUs.Held, j.GPUs.Wanted)
}

// elapsed is how long it ran; a waiting job has not.
func elapsed(j *fleet.Job, now time.Time) string {
	switch {
	case j.Started.IsZero() || j.Waiting():
		return words.None
	case !j.Ended.IsZero() && j.Done():
		return words.Span(max(0, j.Ended.Sub(j.Started)))
	}
	return words.Age(now, j.Started)
}

// whereOrWhy is the last column of squeue: the nodes, or why there are none.
func whereOrWhy(j *fleet.Job) string {
	if len(j.Nodes) > 0 && !j.Waiting() {
		return fleet.FoldHosts(j.Nodes)
	}
	if j.Reason.Absent() {
		return words.None
	}
	return "(" + words.Reason(j.Reason) + ")"
}

// stamp is a time for a table.
func stamp(t time.Time) string {
	if t.IsZero() {
		return words.None
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// pickJobs takes any id that squeue shows: an array's id means all of its rows.
func pickJobs(s *fleet.Snapshot, rows []row, name string) ([]row, error) {
	found := map[any]bool{}
	for _, j := range s.FindJobs("", name) {
		found[j.Key] = true
	}
	var picked []row
	for _, r := range rows {
		if found[r.key] {
			picked = append(picked, r)
		}
	}
	if len(picked) == 0 {
		return nil, failf(exitFailed, "no job %q is known to the clusters; it may have ended long ago", name)
	}
	return picked, nil
}

func findingResource() resource {
	r := resource{
		name: "findings", aliases: []string{"triage"}, agents: true, listKind: "FindingList", fields: fleet.FindingFields(),
		columns: []column{{title: "ID"}, {title: "SEVERITY"}, {title: "SUBJECT"}, {title: "TITLE"}, {title: "GPUS"}, {title: "SINCE"}, {title: "ADVICE", wide: true}},
	}
	r.rows = func(s *fleet.Snapshot, now time.Time) []row {
		var rows []row
		for i := range s.Findings {
			f := &s.Findings[i]
			cells := []string{
				f.ID, f.Severity.String(), string(f.Subject.Kind) + " " + f.Subject.Name, f.Title,
				strconv.Itoa(f.Blast.GPUs), words.Age(now, f.Since), f.Advice,
			}
			rows = append(rows, row{name: f.ID, item: findingItemOf(f), cells: cells, match: &fleet.FindingRow{Finding: f, Now: now}})
		}
		return rows
	}
	return r
}

func timelineResource() resource {
	r := resource{
		name: "timeline", aliases: []string{"events"}, listKind: "EventList", fields: fleet.EventFields(),
		columns: []column{{title: "AT"}, {title: "SUBJECT"}, {title: "WHAT"}, {title: "BEFORE"}, {title: "AFTER"}, {title: "BY"}, {title: "SOURCE", wide: true}},
	}
	r.rows = func(s *fleet.Snapshot, now time.Time) []row {
		var rows []row
		for i := range s.Timeline {
			e := &s.Timeline[i]
			subject := string(e.Subject.Kind) + " " + e.Subject.Name
			cells := []string{stamp(e.At), subject, e.What, e.Before, e.After, e.Author, e.Source}
			rows = append(rows, row{name: fmt.Sprintf("%s/%d", e.Subject.Name, e.At.UnixNano()), item: eventItemOf(e), cells: cells, match: &fleet.EventRow{Event: e, Now: now}})
		}
		return rows
	}
	return r
}
