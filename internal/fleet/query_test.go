package fleet

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

var queryNow = time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)

func queryNode() *NodeRow {
	n := &Node{
		Name: "gpu-node017",
		Views: []View{
			{
				Cluster: "ai", Base: BaseMixed, Flags: []string{FlagDrain, "NOT_RESPONDING"},
				Reason: Reason{Text: "GPU 3 fell off the bus", Author: "bob", At: queryNow.Add(-3 * time.Hour)},
				Queues: []string{"gpu", "low"}, GPUs: GPUCount{Total: 8, Allocated: 6, Model: "h100"},
				CPUs: CPUCount{Total: 96, Allocated: 12}, Memory: MemoryCount{Total: 1 << 20}, Load: math.NaN(),
				Features: []string{"rack7"}, Version: "24.11.5",
			},
			{Cluster: "prod-a", Kind: Kubernetes, Base: "READY", GPUs: GPUCount{Total: 8, Model: "H100"}, Load: math.NaN()},
		},
		GPUs: []GPU{{Temp: Reading{Value: 61, Quality: Known}}, {Temp: Reading{Value: 99, Quality: Unreadable}}},
	}
	s := NewSnapshot(Snapshot{Nodes: []*Node{n}, Jobs: []*Job{
		{ID: "4711", Base: JobRunning, User: "alice", Nodes: []string{"gpu-node017"}},
	}})
	return &NodeRow{Node: n, Snap: s, Now: queryNow}
}

func queryJob() *JobRow {
	return &JobRow{Now: queryNow, Job: &Job{
		Key: JobKey{Cluster: "ai", ID: "8_*"}, ID: "8_[4-7%2]", Array: &ArrayRef{JobID: 8},
		Name: "Llama 70b", User: "alice", Queue: "gpu", Base: JobPending, Flags: []string{JobFlagHold},
		Reason: PendingReason{Code: "Resources", Text: "waits for Nodes"}, GPUs: GPUDemand{Wanted: 64, Model: "h100"},
		NodeCount: 8, Submitted: queryNow.Add(-26 * time.Hour), Limit: Limit{Kind: LimitNone}, ExitCode: -1, Priority: 1408,
	}}
}

func TestQueryMatches(t *testing.T) {
	node, job := queryNode(), queryJob()
	for _, c := range []struct {
		row  Row
		yes  bool
		list string // filters, one a line
	}{
		{node, true, `
			state:drain
			STATE:Draining
			state:notresp
			state:not_responding
			state==drain
			state:ready && state:faulty
			base==ready base:mixed flag:drain
			gpu:h100
			cluster:prod-a
			user==alice
			owner:ALI job:47
			reason:"fell off"
			reason:'fell off' author==bob
			age>2h && age<4h
			age>=0.1d age<=1d12h
			free==0 gpus==8 gpus:8 allocated=6
			name~^gpu-node0[1-3]
			name~^gpu-(node|x)0.7$
			(name~(a|b|node)) cluster:ai
			mem>=512G mem<2TiB
			temp>60 temp<85
			load:none disagree:none
			version>24.5 version<24.11.10
			!cluster:nowhere
			!(state:idle || state:alloc)
			state!=idle
			bob
			fell "off the" NODE017
			partition:low queue==gpu feature:rack7
			feature != rack8`},
		{node, false, `
			state:down
			state:idle
			base:drain
			user==ali
			free>=1
			age>3h30m
			name~^GPU
			temp>85
			temp:none
			disagree:x
			!gpu:h100
			bob alicia
			author!=bob`},
		{job, true, `
			id:8 id==8 array==8 job:8_
			name:llama user:ALICE account:none
			state:pending state:held flag:requeue_hold
			reason:resources reason:nodes
			gpus>=64 gpus<=64 gpus!=8
			age>1d wait>1d elapsed:none exit:none
			limit==unlimited limit>100w
			priority>=1,408 nodes>4 node:none`},
		{job, false, `
			state:running
			id:9
			elapsed<1h
			limit<2d
			user==bob`},
	} {
		for s := range strings.SplitSeq(strings.TrimSpace(c.list), "\n") {
			q, err := ParseQuery(strings.TrimSpace(s))
			if err != nil {
				t.Errorf("%s: %v", s, err)
				continue
			}
			if got := q.Match(c.row); got != c.yes {
				t.Errorf("%s matches %T: %v", s, c.row, got)
			}
		}
	}
}

func TestQueryOtherRows(t *testing.T) {
	gpu := &GPURow{GPU: &GPU{UUID: "GPU-1", Node: "n1", Model: "h100", Owners: []Owner{{User: "alice", Job: JobKey{ID: "7"}}}}}
	finding := &FindingRow{&Finding{Severity: Critical, Title: "n1 is down", Blast: Blast{GPUs: 8, Users: []string{"bob"}}}, queryNow}
	event := &EventRow{&Event{What: "state", After: "DOWN", Author: "root", At: queryNow.Add(-time.Minute)}, queryNow}
	for s, row := range map[string]Row{
		"owner:alice job==7 temp:none uuid:gpu-1": gpu, "h100": gpu, "mem:none": gpu,
		"severity:crit gpus>=8 user==bob": finding, "down": finding,
		"what==state author:root age>30s": event, "DOWN": event,
	} {
		q, err := ParseQuery(s)
		if err != nil || !q.Match(row) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestQueryErrors(t *testing.T) {
	for s, want := range map[string]string{
		"(a": "position 1", "a)": "position 2", `"a`: "position 1", "state:": "position 7", "a &&": "position 5",
		"!": "position 2", "|| a": "position 1", "name~[": "regular expression of name", "()": "position 2",
		"ä )": "position 3", strings.Repeat("(", 1000): "deeply",
	} {
		_, err := ParseQuery(s)
		if !errors.Is(err, ErrQuery) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseQuery(%.20q): %v; want %q", s, err, want)
		}
		if !LiteralQuery(s).Match(&EventRow{&Event{After: "x" + s + "y"}, queryNow}) {
			t.Errorf("literal %.20q does not match itself", s)
		}
	}
}

func TestQueryCheck(t *testing.T) {
	for s, want := range map[string]string{
		"colour:red": `no field "colour"; fields are id, name, user`, "gpus>many": `gpus is a number, not "many"`,
		"a age>60": "age is a time span", "state:x": "", "limit:none": "", "user~.": "", "Owner:x": "",
	} {
		q, err := ParseQuery(s)
		if err != nil {
			t.Fatal(err)
		}
		err = q.Check(JobFields())
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrQuery) || !strings.Contains(err.Error(), want)) {
			t.Errorf("Check(%s): %v; want %q", s, err, want)
		}
	}
}

func TestQueryEmpty(t *testing.T) {
	for _, s := range []string{"", "  "} {
		q, err := ParseQuery(s)
		if err != nil || !q.Empty() || !q.Match(queryJob()) || !LiteralQuery(s).Empty() {
			t.Errorf("%q: %v", s, err)
		}
	}
	if !(Query{}).Match(queryJob()) {
		t.Error("the zero query matches everything")
	}
}

// Every field is in its table once, has a description, and is of the kind it says.
func TestFieldTables(t *testing.T) {
	for name, table := range map[string]struct {
		fields []Field
		row    Row
	}{
		"node": {NodeFields(), queryNode()}, "job": {JobFields(), queryJob()}, "gpu": {GPUFields(), &GPURow{GPU: &GPU{}}},
		"finding": {FindingFields(), &FindingRow{&Finding{}, queryNow}}, "event": {EventFields(), &EventRow{&Event{}, queryNow}},
	} {
		seen := map[string]bool{}
		for _, f := range table.fields {
			for _, n := range append([]string{f.Name}, f.Aliases...) {
				v, ok := table.row.Field(n)
				if seen[n] || !ok || v.Kind != f.Kind || f.Doc == "" || n != strings.ToLower(n) {
					t.Errorf("%s field %s: %+v, %v", name, n, v, ok)
				}
				seen[n] = true
			}
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{
		"state:drain", "temp>85 && owner:none", "!cluster:prod-a", "name~^gpu-node0[1-3]", "age>2h free>=4",
		`(a || "b c") !x:'y'`, "name~(a|b)", "((", "a)", "!!a", "x:", "É:é É", "gpus=8", "limit>unlimited", "mem<1.5T",
	} {
		f.Add(s)
	}
	rows := []Row{queryNode(), queryJob()}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseQuery(s)
		if err != nil {
			if !errors.Is(err, ErrQuery) {
				t.Fatalf("unclassed error %v", err)
			}
			q = LiteralQuery(s)
		}
		_ = q.Check(NodeFields())
		for _, r := range rows {
			q.Match(r)
		}
		if err == nil && q.String() != s {
			t.Fatalf("String() = %q", q.String())
		}
	})
}

func benchmarkJobs(n int) []*Job {
	jobs := make([]*Job, n)
	for i := range jobs {
		j := *queryJob().Job
		j.ID, j.Name = fmt.Sprint(i), fmt.Sprintf("train-%d", i%97)
		if i%2 == 0 {
			j.Base, j.Nodes = JobRunning, []string{fmt.Sprintf("gpu-node%04d", i%7500)}
		}
		jobs[i] = &j
	}
	return jobs
}

func BenchmarkQuery20kJobs(b *testing.B) {
	jobs := benchmarkJobs(20_000)
	for _, s := range []string{"state:pending gpus>=8 user==alice", "name~^train-9[0-3]$ && age>2h", "node012"} {
		q, err := ParseQuery(s)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				row := JobRow{Now: queryNow}
				for _, j := range jobs {
					row.Job = j
					q.Match(&row)
				}
			}
		})
	}
}
