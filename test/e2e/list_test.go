package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

type nodeItem struct {
	Name   string
	States []struct {
		Cluster, Base string
		Flags         []string
		Drained       bool
		Reason        struct {
			Text, Author string
			At           *time.Time
		}
		Queues []string
		GPUs   struct{ Total, Allocated int }
	}
}

type jobItem struct {
	ID, Name, User, Queue, Base string
	Flags, Nodes                []string
	Reason                      struct{ Code, Text string }
	GPUs                        struct{ Wanted, Held int }
	NodeCount                   int `json:"node_count"`
	Restarts                    int
	Started                     *time.Time
	Limit                       *int64 `json:"limit_seconds"`
}

// scontrol's own words for every record, by key.
func scontrol(t testing.TB, r *rig, what, key string) map[string]map[string]string {
	t.Helper()
	out := map[string]map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(as(t, r.cluster, "root", "scontrol", "show", what, "-o")), "\n") {
		rec := map[string]string{}
		for word := range strings.FieldsSeq(line) {
			if k, v, ok := strings.Cut(word, "="); ok && rec[k] == "" {
				rec[k] = v
			}
		}
		out[rec[key]] = rec
	}
	return out
}

// What is read is compared on one cluster with every kind of job and two drains.
func TestReading(t *testing.T) {
	r := newRig(t, "root", local)
	mixed(t, r.cluster)
	for name, test := range map[string]func(*testing.T, *rig){
		"three transports agree":      threeTransportsAgree,
		"get nodes matches scontrol":  nodesMatchScontrol,
		"get jobs matches scontrol":   jobsMatchScontrol,
		"queue explains every reason": queueExplains,
		"every output format":         outputFormats,
		"bad input is one sentence":   badInput,
	} {
		t.Run(name, func(t *testing.T) {
			sub := *r
			sub.t = t
			test(t, &sub)
		})
	}
}

func nodesMatchScontrol(t *testing.T, r *rig) {
	got := items[nodeItem](r, "get", "nodes")
	want := scontrol(t, r, "node", "NodeName")
	if len(got) != len(want) {
		t.Fatalf("%d nodes, scontrol has %d", len(got), len(want))
	}
	for _, n := range got {
		w, s := want[n.Name], n.States[0]
		// PLANNED and the like come and go with each backfill cycle.
		if base, _, _ := strings.Cut(w["State"], "+"); s.Base != base {
			t.Errorf("%s: base %s, scontrol %s", n.Name, s.Base, base)
		}
		if drain := strings.Contains(w["State"], "DRAIN"); drain != strings.Contains(strings.Join(s.Flags, " "), "DRAIN") {
			t.Errorf("%s: flags %v, scontrol %s", n.Name, s.Flags, w["State"])
		}
		if alloc := gpusIn(w["AllocTRES"]); s.GPUs.Allocated != alloc || s.GPUs.Total != 8 {
			t.Errorf("%s: GPUs %+v, scontrol %s", n.Name, s.GPUs, w["AllocTRES"])
		}
		if strings.Join(s.Queues, ",") != w["Partitions"] {
			t.Errorf("%s: queues %v, scontrol %s", n.Name, s.Queues, w["Partitions"])
		}
	}
	for _, n := range got {
		if n.Name == "gpu-node007" && (n.States[0].Reason.Text != "bad NVLink [see 12]" || n.States[0].Reason.Author != "gpuadm" || !n.States[0].Drained || n.States[0].Reason.At == nil) {
			t.Errorf("reason %+v", n.States[0])
		}
	}
}

func gpusIn(tres string) (n int) {
	for part := range strings.SplitSeq(tres, ",") {
		if _, err := fmt.Sscanf(part, "gres/gpu=%d", &n); err == nil {
			return n
		}
	}
	return 0
}

func jobsMatchScontrol(t *testing.T, r *rig) {
	got := items[jobItem](r, "get", "jobs")
	want := scontrol(t, r, "job", "JobId")
	if len(got) != len(want) {
		t.Errorf("%d jobs, scontrol has %d", len(got), len(want))
	}
	seen := map[string]bool{}
	for _, j := range got {
		if seen[j.ID] {
			t.Errorf("%s is listed twice", j.ID)
		}
		seen[j.ID] = true
		w := want[rawID(j.ID, want)]
		if w == nil {
			t.Errorf("%s is not known to scontrol", j.ID)
			continue
		}
		if j.Base != w["JobState"] {
			t.Errorf("%s: %s, scontrol %s", j.ID, j.Base, w["JobState"])
		}
		if user, _, _ := strings.Cut(w["UserId"], "("); j.User != user || j.Queue != w["Partition"] {
			t.Errorf("%s: %s on %s, scontrol %s on %s", j.ID, j.User, j.Queue, user, w["Partition"])
		}
		if held := gpusIn(w["AllocTRES"] + "," + w["TRES"]); j.Base == "RUNNING" && j.GPUs.Held != held {
			t.Errorf("%s: holds %d GPUs, scontrol %d", j.ID, j.GPUs.Held, held)
		}
	}
}

// rawID finds the JobId of scontrol for an id as squeue shows it.
func rawID(id string, all map[string]map[string]string) string {
	if all[id] != nil && all[id]["ArrayJobId"] == "" {
		return id
	}
	for raw, rec := range all {
		task := rec["ArrayTaskId"]
		switch {
		case rec["HetJobId"] != "" && id == rec["HetJobId"]+"+"+rec["HetJobOffset"]:
			return raw
		case rec["ArrayJobId"] != "" && id == rec["ArrayJobId"]+"_"+task:
			return raw
		case rec["ArrayJobId"] != "" && strings.HasPrefix(id, rec["ArrayJobId"]+"_[") && strings.ContainsAny(task, "-,%"):
			return raw
		}
	}
	return ""
}

func TestOneRowForAJobOfManyNodes(t *testing.T) {
	r := newRig(t, "root", local)
	idle(t, r.cluster)
	id := submit(t, r.cluster, "alice", "--nodes=8", "--ntasks-per-node=8", "--gres=gpu:8")
	got := items[jobItem](r, "get", "jobs", id)
	if len(got) != 1 || len(got[0].Nodes) != 8 || got[0].GPUs.Held != 64 {
		t.Errorf("%+v", got)
	}
}

func queueExplains(t *testing.T, r *rig) {
	type queued struct {
		jobItem
		Meaning, Next string
		Operator      bool `json:"needs_operator"`
	}
	got := items[queued](r, "get", "queue")
	if len(got) < 4 {
		t.Fatalf("%d waiting", len(got))
	}
	for _, q := range got {
		if q.Meaning == "" {
			t.Errorf("%s waits for %s %s and nothing is said", q.ID, q.Reason.Code, q.Reason.Text)
		}
	}
}

// Every output format of every resource is well formed.
func outputFormats(t *testing.T, r *rig) {
	for _, what := range []string{"clusters", "nodes", "machines", "jobs", "workloads", "gpus", "mig", "findings", "queue", "timeline"} {
		a := r.want(0, "get", what, "-o", "json")
		var l struct {
			Kind    string
			At      time.Time
			Sources []struct {
				Name, Kind, Status, Error string
				Age                       *float64 `json:"age_seconds"`
			}
			Items []any
		}
		if err := json.Unmarshal([]byte(a.stdout), &l); err != nil || !strings.HasSuffix(l.Kind, "List") || len(l.Sources) != 1 || l.Sources[0].Status != "live" || l.Items == nil {
			t.Errorf("%s: %v %+v", what, err, l)
		}
		for _, f := range []string{"table", "wide", "yaml", "name"} {
			r.want(0, "get", what, "-o", f)
		}
	}
}

func badInput(t *testing.T, r *rig) {
	for _, args := range [][]string{
		{"get", "unicorns"},
		{"get", "nodes", "-o", "xml"},
		{"get", "nodes", "--filter", "nosuch:1"},
		{"get", "nodes", "--filter", "a &&"},
		{"get", "nodes", "--sort-by", "beauty"},
		{"get", "nodes", "gn[1-"},
		{"get", "nodes", "--cluster", "other"},
		{"frobnicate"},
		{"drain"},
	} {
		a := r.want(2, args...)
		if n := strings.Count(strings.TrimSpace(a.stderr), "\n"); n > 0 || !strings.HasPrefix(a.stderr, "gpuctl: ") {
			t.Errorf("%v: %q", args, a.stderr)
		}
	}
	r.want(1, "get", "nodes", "gpu-node999")
	r.want(1, "get", "jobs", "987654")
}

func TestDescribe(t *testing.T) {
	r := newRig(t, "root", local)
	idle(t, r.cluster)
	id := submit(t, r.cluster, "alice", "--gres=gpu:8", "-J", "llama")
	if out := r.want(0, "describe", "job", id).stdout; !strings.Contains(out, "llama") || !strings.Contains(out, "IDX:0-7") {
		t.Errorf("%s", out)
	}
	node := items[jobItem](r, "get", "jobs", id)[0].Nodes[0]
	if out := r.want(0, "describe", "node", node).stdout; !strings.Contains(out, id) || !strings.Contains(out, "8 of 8") {
		t.Errorf("%s", out)
	}
}
