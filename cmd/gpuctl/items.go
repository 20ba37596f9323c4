package main

import (
	"math"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// The JSON shapes of the command line. Scripts rely on them: fields are added,
// never renamed. Absent times and numbers are null, never 0.

type list struct {
	Kind    string       `json:"kind"`
	At      time.Time    `json:"at"`
	Sources []sourceItem `json:"sources"`
	Items   []any        `json:"items"`
}

type sourceItem struct {
	Name          string   `json:"name"`
	Kind          string   `json:"kind"`
	Cluster       string   `json:"cluster"`
	Via           string   `json:"via"`
	Status        string   `json:"status"`
	Version       string   `json:"version,omitempty"`
	AgeSeconds    *float64 `json:"age_seconds"`
	Reached       int      `json:"reached,omitempty"` // of those wanted, for a source that stands for many
	Wanted        int      `json:"wanted,omitempty"`
	Error         string   `json:"error"`
	NotUnderstood int      `json:"not_understood"`
}

func sourceItems(s *fleet.Snapshot, now time.Time) []sourceItem {
	items := make([]sourceItem, len(s.Sources))
	for i := range s.Sources {
		src := &s.Sources[i]
		items[i] = sourceItem{
			Name: src.Name, Kind: src.Kind, Cluster: src.Cluster, Via: src.Via, Status: string(src.Status),
			Version: src.Version, Error: src.LastError, NotUnderstood: src.NotUnder,
			Reached: src.Reached, Wanted: src.Wanted,
		}
		if !src.LastSuccess.IsZero() {
			age := math.Round(src.Age(now).Seconds()*10) / 10
			items[i].AgeSeconds = &age
		}
	}
	return items
}

type clusterItem struct {
	Name       string                `json:"name"`
	Kind       string                `json:"kind"`
	Version    string                `json:"version"`
	Native     string                `json:"native"`
	Identity   identityItem          `json:"identity"`
	SkewMS     int64                 `json:"skew_ms"`
	Nodes      int                   `json:"nodes"`
	GPUs       gpuCount              `json:"gpus"`
	Jobs       int                   `json:"jobs"`
	Partitions []partitionItem       `json:"partitions"`
	QOS        []fleet.QOS           `json:"qos,omitempty"`
	Stats      *fleet.SchedulerStats `json:"stats,omitempty"`
}

type identityItem struct {
	User string `json:"user"`
	Role string `json:"role"`
	Via  string `json:"via"`
}

type partitionItem struct {
	Name         string `json:"name"`
	State        string `json:"state"`
	Default      bool   `json:"default"`
	Nodes        string `json:"nodes"`
	PriorityTier int    `json:"priority_tier"`
	PreemptMode  string `json:"preempt_mode"`
	GraceSeconds int64  `json:"grace_seconds"`
}

type gpuCount struct {
	Total     int `json:"total"`
	Allocated int `json:"allocated"`
}

type nodeItem struct {
	Name     string      `json:"name"`
	States   []stateItem `json:"states"`
	GPUs     []gpuItem   `json:"gpus"`
	Agent    *agentItem  `json:"agent"` // null: no agent watches it
	Findings []string    `json:"findings"`
	Disagree bool        `json:"disagree"`
	Why      string      `json:"disagreement,omitempty"`
}

type stateItem struct {
	Cluster  string     `json:"cluster"`
	Kind     string     `json:"kind"`
	Node     string     `json:"node"`
	Base     string     `json:"base"`
	Flags    []string   `json:"flags"`
	Drained  bool       `json:"drained"`
	Reason   reasonItem `json:"reason"`
	Queues   []string   `json:"queues"`
	GPUs     gpuCount   `json:"gpus"`
	CPUs     gpuCount   `json:"cpus"`
	MemMiB   memItem    `json:"memory_mib"`
	Features []string   `json:"features"`
	Version  string     `json:"version"`
	Booted   *time.Time `json:"booted"`
	Oddities []string   `json:"not_understood,omitempty"`
}

type memItem struct {
	Total     int64 `json:"total"`
	Allocated int64 `json:"allocated"`
}

type reasonItem struct {
	Text   string     `json:"text"`
	Author string     `json:"author"`
	At     *time.Time `json:"at"`
}

type jobItem struct {
	Cluster    string          `json:"cluster"`
	Kind       string          `json:"kind"`
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	User       string          `json:"user"`
	Account    string          `json:"account"`
	Queue      string          `json:"queue"`
	QOS        string          `json:"qos"`
	Base       string          `json:"base"`
	Flags      []string        `json:"flags"`
	Reason     jobReason       `json:"reason"`
	GPUs       jobGPUs         `json:"gpus"`
	Nodes      []string        `json:"nodes"`
	NodeCount  int             `json:"node_count"`
	Submitted  *time.Time      `json:"submitted"`
	Started    *time.Time      `json:"started"`
	Ended      *time.Time      `json:"ended"`
	EstStart   *time.Time      `json:"estimated_start"`
	Limit      *int64          `json:"limit_seconds"` // null: none, or the partition's
	Restarts   int             `json:"restarts"`
	Priority   int64           `json:"priority"`
	Array      *arrayItem      `json:"array,omitempty"`
	Exit       *int            `json:"exit_code"`
	Signal     int             `json:"signal,omitempty"`
	Checkpoint *checkpointItem `json:"checkpoint"`
	Oddities   []string        `json:"not_understood,omitempty"`
}

// checkpointItem is null until something looked for the job's checkpoints.
type checkpointItem struct {
	Dir      string     `json:"dir"`
	Step     int64      `json:"step"`
	At       *time.Time `json:"at"`
	Complete bool       `json:"complete"`
}

type jobReason struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

type jobGPUs struct {
	Wanted int `json:"wanted"`
	Held   int `json:"held"`
}

type arrayItem struct {
	JobID int64  `json:"job_id"`
	Task  *int64 `json:"task"`
	Tasks string `json:"tasks,omitempty"`
	Count int    `json:"count"`
	Limit int    `json:"limit,omitempty"`
}

type findingItem struct {
	ID       string      `json:"id"`
	Rule     string      `json:"rule"`
	Severity string      `json:"severity"`
	Subject  subjectItem `json:"subject"`
	Title    string      `json:"title"`
	Evidence []string    `json:"evidence"`
	Since    *time.Time  `json:"since"`
	Blast    blastItem   `json:"blast"`
	Advice   string      `json:"advice"`
	Actions  []string    `json:"actions"`
}

type subjectItem struct {
	Kind    string `json:"kind"`
	Cluster string `json:"cluster,omitempty"`
	Name    string `json:"name"`
}

type blastItem struct {
	GPUs  int      `json:"gpus"`
	Jobs  int      `json:"jobs"`
	Users []string `json:"users"`
}

type eventItem struct {
	At      time.Time   `json:"at"`
	Source  string      `json:"source"`
	Subject subjectItem `json:"subject"`
	What    string      `json:"what"`
	Before  string      `json:"before"`
	After   string      `json:"after"`
	Author  string      `json:"author,omitempty"`
}

// when is nil for a time that is not known.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// strs is never null in JSON.
func strs(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
