package slurm

import (
	"errors"
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

// queueText is what squeue prints of rows, with its header.
func queueText(rows ...string) string {
	header := make([]string, len(queueColumns))
	for i, c := range queueColumns {
		header[i] = strings.ToUpper(c.name)
	}
	text := strings.Join(header, fieldSep) + recordSep + "\n"
	for _, row := range rows {
		text += row + recordSep + "\n"
	}
	return text
}

func queued(t *testing.T, rows ...string) []fleet.Job {
	t.Helper()
	jobs, err := textQueue(queueText(rows...))
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func oneJob(t *testing.T, cells ...string) fleet.Job {
	t.Helper()
	jobs := queued(t, queueRow(cells...))
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
	jobs := queued(t, queueRow("jobarrayid", "1", "state", "RUNNING", "comment", "line1\nline2"),
		queueRow("jobarrayid", "2", "state", "PENDING"))
	if len(jobs) != 2 || jobs[0].Comment != "line1\nline2" || jobs[1].ID != "2" {
		t.Errorf("got %+v", jobs)
	}
}

func TestC08_WrongFieldCountIsKept(t *testing.T) {
	jobs := queued(t, "8_3\x1fa\x1fb", "nonsense", queueRow("jobarrayid", "3", "state", "RUNNING"))
	if len(jobs) != 3 {
		t.Fatalf("%d jobs of 3", len(jobs))
	}
	for i, id := range []string{"8_3", "nonsense"} {
		if j := jobs[i]; j.ID != id || len(j.Oddities) != 1 || j.Raw == "" || j.Base != fleet.BaseUnknown {
			t.Errorf("got %+v", j)
		}
	}
	if len(jobs[2].Oddities) != 0 || jobs[2].ID != "3" {
		t.Errorf("the good row suffered: %+v", jobs[2])
	}
}

// Whoever types the separators into a name spoils nothing but the name.
func TestC09_SeparatorsInAName(t *testing.T) {
	jobs := queued(t, queueRow("jobarrayid", "5", "state", "RUNNING", "username", "alice", "name", "x\x1fy\x1ez\nq", "nodelist", "gn1"),
		queueRow("jobarrayid", "6", "state", "RUNNING", "name", "a\x1eb\x00c\xff"))
	if len(jobs) != 2 {
		t.Fatalf("%d jobs of 2: %+v", len(jobs), jobs)
	}
	j := jobs[0]
	if j.ID != "5" || j.Base != "RUNNING" || j.User != "alice" || len(j.Nodes) != 1 || len(j.Oddities) != 1 || !strings.HasPrefix(j.Name, "x y\x1ez\nq") {
		t.Errorf("got %+v", j)
	}
	if j := jobs[1]; j.ID != "6" || j.Name != "a\x1eb\x00c\xff" || len(j.Oddities) != 0 {
		t.Errorf("got %+v", j)
	}
}

// A login shell that greets on standard output makes no job and harms none.
func TestC09_BannerBeforeTheRows(t *testing.T) {
	banner := "Welcome to gpulab\n  quota = 80 %\n\n"
	jobs, err := textQueue(banner + queueText(queueRow("jobarrayid", "4711", "state", "RUNNING")))
	if err != nil || len(jobs) != 1 || jobs[0].ID != "4711" || len(jobs[0].Oddities) != 0 {
		t.Errorf("got %+v, %v", jobs, err)
	}
	if jobs, err := textQueue(banner + queueText()); err != nil || len(jobs) != 0 {
		t.Errorf("got %+v, %v", jobs, err)
	}
}

// Half an answer is none: what is missing must not look like jobs that ended.
func TestC15_QueueCutShort(t *testing.T) {
	whole := queueText(queueRow("jobarrayid", "4711", "state", "RUNNING"), queueRow("jobarrayid", "4712", "state", "RUNNING"))
	header := len(queueText())
	for cut := range len(whole) - 1 {
		jobs, err := textQueue(whole[:cut])
		onBoundary := cut >= header && strings.HasSuffix(whole[:cut], recordSep+"\n")
		if (err == nil) != onBoundary || err != nil && !errors.Is(err, ErrDecode) {
			t.Fatalf("cut at %d: %d jobs, %v", cut, len(jobs), err)
		}
	}
	for _, text := range []string{"slurm_load_jobs: try later\n", "JOBID NAME\n1 x\n", "\x1e\n"} {
		if jobs, err := textQueue(text); !errors.Is(err, ErrDecode) {
			t.Errorf("%q: %d jobs, %v", text, len(jobs), err)
		}
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
		jobs, err := textQueue(queueText() + text)
		if err != nil {
			t.Fatal(err)
		}
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
		_, _ = textQueue(text)
		jobs, err := textQueue(queueText() + text)
		if err != nil {
			return
		}
		if rows := strings.Count(text, recordSep+"\n"); len(jobs) != rows {
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
	text := queueText() + strings.Repeat(row, 20000)
	for b.Loop() {
		if jobs, err := textQueue(text); len(jobs) != 20000 {
			b.Fatal(len(jobs), err)
		}
	}
}
