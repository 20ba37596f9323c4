package slurm

import (
	"slices"
	"strings"
	"testing"
)

// polled is every command that one poll runs.
func polled(t *testing.T) [][]string {
	t.Helper()
	f := ofVersion(t, "22.05")
	c := NewCommandTransport(f)
	if _, err := c.Nodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Jobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f.asked
}

func TestC15_JobsOfEveryStateAreAsked(t *testing.T) {
	queue := polled(t)[1]
	if i := slices.Index(queue, "-t"); queue[0] != "squeue" || i < 0 || queue[i+1] != "all" || !slices.Contains(queue, "-a") {
		t.Errorf("asked %q: failed jobs and hidden partitions would be missing", queue)
	}
}

func TestC25_ThePollIsTextAndNeverJSON(t *testing.T) {
	for _, argv := range polled(t) {
		if strings.Contains(strings.Join(argv, " "), "json") {
			t.Errorf("asked %q", argv)
		}
	}
}
