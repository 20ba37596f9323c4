package slurm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// queueRow makes a row of squeue; cells are column name, value, ...
func queueRow(cells ...string) string {
	fields := make([]string, len(queueColumns))
	for i, c := range queueColumns {
		if at := slices.Index(cells, c.name); at >= 0 {
			fields[i] = cells[at+1]
		}
	}
	return strings.Join(fields, fieldSep)
}

func oneJob(t *testing.T, cells ...string) fleet.Job {
	t.Helper()
	jobs := textQueue(queueRow(cells...) + recordSep + "\n")
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	return jobs[0]
}

func TestC09_DelimitersInUserText(t *testing.T) {
	j := oneJob(t, "jobarrayid", "1001", "state", "RUNNING", "name", "a|b x,y", "workdir", "/data/a|b", "username", "alice")
	if j.Name != "a|b x,y" || j.WorkDir != "/data/a|b" || j.User != "alice" || len(j.Oddities) != 0 {
		t.Errorf("got %+v", j)
	}
}

func TestC10_NewlineInsideAField(t *testing.T) {
	jobs := textQueue(queueRow("jobarrayid", "1", "state", "RUNNING", "comment", "line1\nline2") + "\x1e\n" +
		queueRow("jobarrayid", "2", "state", "PENDING") + "\x1e\n")
	if len(jobs) != 2 || jobs[0].Comment != "line1\nline2" || jobs[1].ID != "2" {
		t.Errorf("got %+v", jobs)
	}
}

func TestC08_WrongFieldCountIsKept(t *testing.T) {
	jobs := textQueue("8_3\x1fa\x1fb\x1e\n" + queueRow("jobarrayid", "2", "state", "RUNNING", "name", "x\x1fy") + "\x1e\n" +
		"nonsense\x1e\n" + queueRow("jobarrayid", "3", "state", "RUNNING") + "\x1e\n")
	if len(jobs) != 4 {
		t.Fatalf("%d jobs of 4", len(jobs))
	}
	for i, id := range []string{"8_3", "2", "nonsense"} {
		if j := jobs[i]; j.ID != id || len(j.Oddities) != 1 || j.Raw == "" || j.Base != fleet.BaseUnknown {
			t.Errorf("got %+v", j)
		}
	}
	if len(jobs[3].Oddities) != 0 || jobs[3].ID != "3" {
		t.Errorf("the good row suffered: %+v", jobs[3])
	}
}

func TestC12_GPUsFromTotals(t *testing.T) {
	j := oneJob(t, "jobarrayid", "1", "state", "RUNNING", "numnodes", "4",
		"tres-alloc", "cpu=4,mem=32G,node=4,gres/gpu=32", "tres-per-node", "N/A", "tres-per-job", "gres:gpu:h100:32")
	if j.GPUs != (fleet.GPUDemand{Wanted: 32, Held: 32, Model: "h100"}) {
		t.Errorf("got %+v", j.GPUs)
	}
	j = oneJob(t, "jobarrayid", "1", "state", "PENDING", "numnodes", "4", "tres-alloc", "cpu=4", "tres-per-node", "gres:gpu:8")
	if j.GPUs != (fleet.GPUDemand{Wanted: 32}) {
		t.Errorf("a cluster that does not track GPUs: %+v", j.GPUs)
	}
	j = oneJob(t, "jobarrayid", "1", "state", "RUNNING", "tres-alloc", "gres/gpu=2", "tres-per-node", "gres/gpu:1g.5gb:2")
	if j.GPUs != (fleet.GPUDemand{}) {
		t.Errorf("MIG slices are not whole GPUs: %+v", j.GPUs)
	}
}

func TestC17_OddTimeHarmsItself(t *testing.T) {
	j := oneJob(t, "jobarrayid", "1", "state", "RUNNING", "starttime", "14:24:22", "timelimit", "30:00")
	if !j.Started.IsZero() || len(j.Oddities) != 1 || j.Limit.Duration != 30*time.Minute {
		t.Errorf("got %+v", j)
	}
}

func TestC20_StartOfPendingJobIsAnEstimate(t *testing.T) {
	at := "2026-12-01T09:00:00"
	j := oneJob(t, "jobarrayid", "1", "state", "PENDING", "starttime", at, "endtime", "2026-12-01T10:00:00")
	if !j.Started.IsZero() || !j.Ended.IsZero() || j.EstStart.Hour() != 9 || j.ExitCode != -1 {
		t.Errorf("got %+v", j)
	}
	j = oneJob(t, "jobarrayid", "1", "state", "RUNNING", "starttime", at, "endtime", "2026-12-01T10:00:00")
	if j.Started.IsZero() || !j.EstStart.IsZero() || !j.Ended.IsZero() {
		t.Errorf("got %+v", j)
	}
}

func TestC23_HeldAfterFailedLaunch(t *testing.T) {
	j := oneJob(t, "jobarrayid", "1", "state", "PENDING", "reason", "launch failed requeued held",
		"restartcnt", "1", "batchhost", "gn023", "prioritylong", "0")
	if j.Reason.Code != "launch_failed_requeued_held" || j.Restarts != 1 || j.BatchHost != "gn023" {
		t.Errorf("got %+v", j)
	}
}

func TestExitStatus(t *testing.T) {
	for in, want := range map[string][2]int{
		"3:0": {3, 0}, "0:15": {0, 15}, "768": {3, 0}, "15": {0, 15}, "0": {0, 0}, "N/A": {-1, 0}, "": {-1, 0}, "x": {-1, 0},
	} {
		if code, sig := exitOfText(in); code != want[0] || sig != want[1] {
			t.Errorf("%q: got %d:%d", in, code, sig)
		}
	}
}

func TestEveryRecordedQueueRowDecodes(t *testing.T) {
	for _, file := range recorded(t, "squeue-fields.txt") {
		text := read(t, file)
		jobs := textQueue(text)
		if want := strings.Count(text, recordSep); len(jobs) != want || want < 10 {
			t.Errorf("%s: %d jobs of %d", file, len(jobs), want)
		}
		for i := range jobs {
			j := &jobs[i]
			if len(j.Oddities) != 0 || j.User != "alice" || j.Account != "research" || j.Submitted.IsZero() ||
				j.Key.Submit == 0 || j.GPUs.Wanted == 0 || j.RawID == 0 || j.Name == "" {
				t.Errorf("%s: %+v", file, j)
			}
		}
	}
}

func FuzzTextQueue(f *testing.F) {
	f.Add(queueRow("jobarrayid", "8_[4-7%2]", "state", "PENDING", "nodelist", "gn[1-4]") + "\x1e\n")
	f.Add("a\x1fb\x1e\n\x1e")
	f.Fuzz(func(t *testing.T, text string) {
		jobs := textQueue(text)
		rows := 0
		for row := range strings.SplitSeq(text, recordSep) {
			if strings.Trim(row, "\r\n") != "" {
				rows++
			}
		}
		if len(jobs) != rows {
			t.Fatalf("%d jobs of %d rows", len(jobs), rows)
		}
		for i := range jobs {
			if jobs[i].Base == "" {
				t.Fatal("a job without a state")
			}
		}
	})
}

func BenchmarkTextQueue(b *testing.B) {
	row := queueRow("jobarrayid", "8_3", "state", "RUNNING", "tres-alloc", "cpu=2,mem=20G,node=2,billing=2,gres/gpu=16",
		"nodelist", "gpu-node[003-004]", "submittime", "2026-11-30T21:51:33", "starttime", "2026-11-30T21:51:34") + "\x1e\n"
	text := strings.Repeat(row, 20000)
	for b.Loop() {
		if n := len(textQueue(text)); n != 20000 {
			b.Fatal(n)
		}
	}
}
