package slurm

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var jobFiles = []string{"scontrol-show-job*.txt", "scontrol-d-show-job.txt", "requeue-show.txt", "preempting-job.txt", "preempted-victim.txt"}

func TestEveryRecordedJobDecodes(t *testing.T) {
	for _, pattern := range jobFiles {
		for _, file := range recorded(t, pattern) {
			text := read(t, file)
			jobs := textDetails(text)
			if want := lines(text, `^JobId=\d`); len(jobs) != want || want == 0 {
				t.Errorf("%s: %d jobs of %d", file, len(jobs), want)
			}
			for i := range jobs {
				j := &jobs[i]
				if len(j.Oddities) != 0 || j.User == "" || j.Submitted.IsZero() || j.GPUs.Wanted == 0 || j.WorkDir == "" {
					t.Errorf("%s: %s: %+v", file, j.ID, j)
				}
				if n := strings.Count(j.Raw, " GRES=gpu"); len(j.Alloc) < n {
					t.Errorf("%s: %s: %d allocations of %d", file, j.ID, len(j.Alloc), n)
				}
			}
		}
	}
}

func TestDetailNamesWhatSqueueNames(t *testing.T) {
	for _, file := range recorded(t, "squeue.txt") {
		var want, got []string
		for i, line := range strings.Split(strings.TrimSpace(read(t, file)), "\n") {
			if i > 0 {
				want = append(want, strings.Fields(line)[0])
			}
		}
		for _, j := range textDetails(read(t, strings.Replace(file, "squeue", "scontrol-show-job", 1))) {
			if !j.Done() {
				got = append(got, j.ID)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}

func TestDetailInFull(t *testing.T) {
	for _, file := range recorded(t, "scontrol-show-job1-dd.txt") {
		jobs := textDetails(read(t, file))
		if len(jobs) != 1 {
			t.Fatalf("%s: %d jobs", file, len(jobs))
		}
		j := jobs[0]
		if len(j.Alloc) != 1 || j.Alloc[0].Node != "gpu-node001" ||
			len(j.Alloc[0].GRES) != 1 || !slices.Equal(j.Alloc[0].GRES[0].Indices, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("%s: %+v", file, j.Alloc)
		}
		if j.GPUs.Held != 8 || j.Limit.Duration != 2*time.Hour || j.Comment != "run 0" || j.Base != "RUNNING" ||
			j.StdOut != "/srv/slurm/home/alice/slurm-1.out" || !j.Requeue || j.BatchHost != "gpu-node001" {
			t.Errorf("%s: %+v", file, j.Job)
		}
	}
}

func TestC22_WaitingRestInDetail(t *testing.T) {
	for _, file := range recorded(t, "scontrol-show-job-array.txt") {
		jobs := textDetails(read(t, file))
		if len(jobs) != 3 {
			t.Fatalf("%s: %d jobs", file, len(jobs))
		}
		rest := jobs[0]
		if rest.ID != "8_[2-5%2]" || rest.Key.ID != "8_*" || rest.Array.Count != 4 || rest.Array.Limit != 2 || rest.StdOut != "" {
			t.Errorf("%s: %s %+v, output %q", file, rest.ID, rest.Array, rest.StdOut)
		}
		if jobs[1].ID != "8_1" || jobs[1].Array.Task != 1 || jobs[1].RawID == 8 {
			t.Errorf("%s: %+v", file, jobs[1].Job)
		}
	}
	// The last task keeps the array's own id: before it starts it is the rest.
	last := "JobId=8 ArrayJobId=8 ArrayTaskId=4 JobName=a\n   JobState=%s Reason=None\n   Restarts=%s\n"
	for _, c := range []struct{ state, restarts, want string }{
		{"PENDING", "0", "8_[4]"},
		{"PENDING", "1", "8_4"},
		{"RUNNING", "0", "8_4"},
	} {
		text := strings.Replace(strings.Replace(last, "%s", c.state, 1), "%s", c.restarts, 1)
		if j := textDetails(text)[0]; j.ID != c.want {
			t.Errorf("%s, %s restarts: got %s, want %s", c.state, c.restarts, j.ID, c.want)
		}
	}
}

func TestAllocationOfSeveralNodes(t *testing.T) {
	odd := []string(nil)
	got := nodeAllocs("Nodes=gpu-node[003-004] CPU_IDs=0-1,4 Mem=10240 GRES=gpu:h100:2(IDX:0,3),shard:4", &odd)
	if len(got) != 2 || got[1].Node != "gpu-node004" || len(got[0].GRES) != 2 ||
		!slices.Equal(got[0].GRES[0].Indices, []int{0, 3}) || odd != nil {
		t.Errorf("got %+v, odd %q", got, odd)
	}
}
