package slurm

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// read returns a recorded answer.
func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// recorded lists the recorded answers whose names match, of every version.
func recorded(t *testing.T, pattern string) []string {
	t.Helper()
	var out []string
	for _, version := range []string{"22.05", "24.11", "26.05"} {
		files, err := filepath.Glob(filepath.Join("testdata", version, pattern))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, files...)
	}
	if len(out) == 0 {
		t.Fatalf("no recorded answer matches %s", pattern)
	}
	return out
}

// lines counts the lines that match, to compare with what was decoded.
func lines(text, pattern string) int {
	return len(regexp.MustCompile("(?m)"+pattern).FindAllString(text, -1))
}

func TestUserTextLooksLikeKeys(t *testing.T) {
	many := "NodeName=gn1 Arch=x86_64 \n   OS=Linux 6.1 #1 SMP State=IDLE @0 \n   State=MIXED+DRAIN Weight=1\n   Partitions=low,high \n\n" +
		"   Reason=a [b] State=IDLE Comment=no [root@2026-11-30T19:47:12]\n   Comment=x=1 State=IDLE\nState=DOWN y\n   Extra=z=2\n\n"
	e := parseEntry(many)
	want := map[string]string{
		"NodeName": "gn1", "Arch": "x86_64", "OS": "Linux 6.1 #1 SMP State=IDLE @0",
		"State": "MIXED+DRAIN", "Weight": "1", "Partitions": "low,high",
		"Reason":  "a [b] State=IDLE Comment=no [root@2026-11-30T19:47:12]",
		"Comment": "x=1 State=IDLE\nState=DOWN y", "Extra": "z=2",
	}
	if !maps.Equal(e.fields, want) || len(e.odd) != 0 {
		t.Errorf("got %q, odd %q", e.fields, e.odd)
	}
}

func TestRecordOnOneLine(t *testing.T) {
	e := parseEntry("NodeName=gn1 OS=Linux 6.1 #1 @0  RealMemory=10 State=MIXED Gres=gpu:8(S:0-1) " +
		"Reason=a b State=IDLE [root@2026-11-30T19:47:12] Comment=c d Extra=e f")
	for key, want := range map[string]string{
		"OS": "Linux 6.1 #1 @0", "State": "MIXED", "RealMemory": "10", "Extra": "e f", "Comment": "c d",
		"Reason": "a b State=IDLE [root@2026-11-30T19:47:12]",
	} {
		if e.fields[key] != want {
			t.Errorf("%s: got %q, want %q", key, e.fields[key], want)
		}
	}
}

func TestKeyToldTwiceIsOdd(t *testing.T) {
	e := parseEntry("JobId=1 JobName=x\n   JobState=RUNNING Reason=None\n   Comment=a\n   JobState=FAILED Reason=None\n")
	if e.fields["JobState"] != "RUNNING" || len(e.odd) != 1 {
		t.Errorf("got %q, odd %q", e.fields["JobState"], e.odd)
	}
}

func TestTextBeforeTheFirstRecord(t *testing.T) {
	records, rest := splitEntries("No nodes in the system\n", "NodeName")
	if records != nil || rest != "No nodes in the system" {
		t.Errorf("got %q, %q", records, rest)
	}
	records, rest = splitEntries("\nJobId=1 A=b\n  C=d\n\nJobId=2 A=b", "JobId")
	if len(records) != 2 || rest != "" || !strings.Contains(records[0], "C=d") {
		t.Errorf("got %q, %q", records, rest)
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add("NodeName=gn1 OS=a b  RealMemory=1 State=IDLE\n   Reason=x [root@2026-11-30T19:47:12]\n")
	f.Add("JobId=1 JobName=a b=c\n   JobState=RUNNING Reason=None\n     Nodes=gn[1-2] CPU_IDs=0-3 Mem=1 GRES=gpu:2(IDX:0-1)\n")
	f.Add("NodeName=\n=\n \x00= a=b")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"NodeName", "JobId"} {
			records, _ := splitEntries(text, name)
			if n := lines(text, "^"+name+"="); n != len(records) {
				t.Fatalf("%d records of %d", len(records), n)
			}
		}
		views, _ := textNodes(text)
		jobs := textDetails(text)
		if len(views) != lines(text, "^NodeName=") || len(jobs) != lines(text, "^JobId=") {
			t.Fatalf("%d nodes, %d jobs", len(views), len(jobs))
		}
		for i := range views {
			if views[i].Node == "" && len(views[i].Oddities) == 0 {
				t.Fatal("a nameless node is not odd")
			}
		}
		_, _ = textPartitions(text), textReservations(text)
	})
}

var nodeFiles = []string{"scontrol-show-node*.txt", "scontrol-d-show-node.txt", "nodefail-*.txt", "x-nodestates.txt"}

func TestEveryRecordedNodeDecodes(t *testing.T) {
	for _, pattern := range nodeFiles {
		for _, file := range recorded(t, pattern) {
			text := read(t, file)
			views, rest := textNodes(text)
			if want := lines(text, `^NodeName=\S`); len(views) != want || want == 0 || rest != "" {
				t.Errorf("%s: %d nodes of %d, left over %q", file, len(views), want, rest)
			}
			for i := range views {
				v := &views[i]
				if len(v.Oddities) != 0 {
					t.Errorf("%s: %s: %q", file, v.Node, v.Oddities)
				}
				if v.GPUs.Total != 8 || v.GPUs.Model != "h100" || v.CPUs.Total != 96 || v.Memory.Total != 1000000 ||
					v.Booted.IsZero() || !slices.Equal(v.Queues, []string{"low", "high"}) || !strings.HasPrefix(v.OS, "Linux") {
					t.Errorf("%s: %+v", file, v)
				}
			}
		}
	}
}
