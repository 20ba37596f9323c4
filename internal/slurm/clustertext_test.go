package slurm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

func TestRecordedPartitions(t *testing.T) {
	for _, file := range recorded(t, "scontrol-show-partition.txt") {
		got := textPartitions(read(t, file))
		want := fleet.Partition{
			Name: "low", State: "UP", Default: true, NodeList: "gpu-node[001-008]",
			MaxTime:      fleet.Limit{Kind: fleet.LimitSet, Duration: 168 * time.Hour},
			DefaultTime:  fleet.Limit{Kind: fleet.LimitSet, Duration: time.Hour},
			PriorityTier: 10, PreemptMode: "REQUEUE", GraceTime: 10 * time.Second,
		}
		if len(got) != 2 || got[0] != want || got[1].Name != "high" || got[1].Default {
			t.Errorf("%s: got %+v", file, got)
		}
	}
}

func TestRecordedReservations(t *testing.T) {
	for _, file := range recorded(t, "resv.txt") {
		got := textReservations(read(t, file))
		if len(got) != 1 || got[0].Name != "maint1" || got[0].NodeList != "gpu-node008" || got[0].Start.IsZero() ||
			!got[0].End.After(got[0].Start) || !slices.Contains(got[0].Flags, "MAINT") ||
			!slices.Equal(got[0].Users, []string{"root"}) || got[0].Accounts != nil || got[0].State != "INACTIVE" {
			t.Errorf("%s: got %+v", file, got)
		}
	}
	if got := textReservations("No reservations in the system\n"); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestRecordedConfig(t *testing.T) {
	for _, file := range recorded(t, "scontrol-show-config.txt") {
		got := textSettings(read(t, file))
		if got.asOf.IsZero() || !strings.Contains(file, got.values["SLURM_VERSION"][:5]) ||
			got.values["ClusterName"] != "gpulab" || got.values["PreemptMode"] != "REQUEUE" || got.values["HealthCheckProgram"] != "" {
			t.Errorf("%s: %v %v", file, got.asOf, got.values)
		}
	}
}

func TestRecordedQOS(t *testing.T) {
	for _, file := range recorded(t, "sacctmgr-qos.txt") {
		got := textQOS(read(t, file))
		if len(got) != 2 || got[0].Name != "normal" || got[0].GPUsPerUser != -1 || got[1].GPUsPerUser != 4 || got[1].MaxJobsPerUser != -1 {
			t.Errorf("%s: got %+v", file, got)
		}
	}
	got := textQOS("high|100|gres/gpu=0|cpu=8|low,normal|00:05:00|4|8\n\nbroken|1\n")
	if len(got) != 1 || got[0].GPUsPerUser != 0 || got[0].GPUsPerGroup != -1 || len(got[0].PreemptableQOS) != 2 ||
		got[0].GraceTime != 5*time.Minute || got[0].MaxSubmitPerUser != 8 {
		t.Errorf("got %+v", got)
	}
}

func TestRecordedStats(t *testing.T) {
	for _, file := range recorded(t, "sdiag.txt") {
		s := textStats(read(t, file))
		if s.At.Year() != 2026 || s.ServerThreads == 0 || s.JobsPending == 0 || s.JobsRunning == 0 || s.CycleLast == 0 ||
			s.CycleMax < s.CycleMean || s.BackfillLast == 0 || s.LastBackfill.IsZero() || len(s.RPCs) < 10 || s.QueueDepth == 0 {
			t.Errorf("%s: got %+v", file, s)
		}
		if r := s.RPCs[0]; !strings.HasPrefix(r.Name, "REQUEST_") || r.Mean == 0 || r.Count < s.RPCs[1].Count {
			t.Errorf("%s: got %+v", file, s.RPCs[:2])
		}
	}
}

// acctAll makes rows of ours out of a recorded "sacct -P -o ALL".
func acctAll(text string) (rows string, jobs int) {
	all := strings.Split(strings.TrimSpace(text), "\n")
	head := strings.Split(all[0], "|")
	for _, line := range all[1:] {
		cells := strings.Split(line, "|")
		if strings.Contains(cells[slices.Index(head, "JobID")], ".") {
			continue // a step: we ask with -X
		}
		fields := make([]string, len(acctColumns))
		for i, c := range acctColumns {
			fields[i] = cells[slices.Index(head, c.name)]
		}
		rows += strings.Join(fields, fieldSep) + "\n"
		jobs++
	}
	return rows, jobs
}

func TestRecordedAccounting(t *testing.T) {
	for _, file := range recorded(t, "sacct.txt") {
		rows, want := acctAll(read(t, file))
		got := textAccounting(rows)
		if len(got) != want || want < 10 {
			t.Errorf("%s: %d jobs of %d", file, len(got), want)
		}
		for i := range got {
			if j := &got[i]; len(j.Oddities) != 0 || j.Submitted.IsZero() || j.GPUs.Wanted == 0 || j.User == "" {
				t.Errorf("%s: %+v", file, j)
			}
		}
	}
	for _, file := range recorded(t, "sacct-fields.txt") {
		text := read(t, file)
		want := strings.Count(text, fieldSep) / (len(acctColumns) - 1)
		got := textAccounting(text)
		if len(got) != want || got[0].Comment != "line1\nline2 State=DOWN JobId=7" || len(got[0].Oddities) != 0 {
			t.Errorf("%s: %d jobs of %d, first %+v", file, len(got), want, got[0])
		}
	}
}

func TestAccountingKeepsRunsApart(t *testing.T) {
	row := func(state, start, end, exit string) string {
		cells := map[string]string{"JobID": "28", "State": state, "Submit": "2026-11-30T19:56:21", "Start": start, "End": end, "ExitCode": exit}
		fields := make([]string, len(acctColumns))
		for i, c := range acctColumns {
			fields[i] = cells[c.name]
		}
		return strings.Join(fields, fieldSep) + "\n"
	}
	got := textAccounting(row("REQUEUED", "2026-11-30T19:56:22", "2026-11-30T19:56:32", "99:0") +
		row("CANCELLED by 64201", "2026-11-30T19:58:41", "2026-11-30T20:01:00", "0:15") + "torn\x1foff\n")
	if len(got) != 3 || got[0].Base != "REQUEUED" || got[0].ExitCode != 99 || !got[0].Done() ||
		got[1].Base != "CANCELLED" || got[1].Signal != 15 || got[1].Reason.Text != "by user 64201" || len(got[2].Oddities) != 1 {
		t.Errorf("got %+v", got)
	}
}

func FuzzClusterTexts(f *testing.F) {
	f.Add("sdiag output at Mon (1796068069)\nServer thread count:  3\nMain schedule statistics (microseconds):\n\tLast cycle:   225\n")
	f.Add("Configuration data as of 2026-11-30T21:52:02\nSLURM_VERSION = 22.05.8\n")
	f.Add("normal|0|gres/gpu=4|||00:00:00||\n")
	f.Fuzz(func(t *testing.T, text string) {
		textStats(text)
		textSettings(text)
		textQOS(text)
		textAccounting(text)
	})
}
