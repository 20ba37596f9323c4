package slurm

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

func TestC22_ArrayAndHetIDs(t *testing.T) {
	for _, c := range []struct {
		in, key, tasks string
		count          int
		array          *fleet.ArrayRef
		het            *fleet.HetRef
	}{
		{"4711", "4711", "", 1, nil, nil},
		{"12_3", "12_3", "3", 1, &fleet.ArrayRef{JobID: 12, Task: 3, Count: 1}, nil},
		{"2653343_[3-4%2]", "2653343_*", "3-4", 2, &fleet.ArrayRef{JobID: 2653343, Task: -1, Tasks: "3-4", Count: 2, Limit: 2}, nil},
		{"900_[60-89,91-94,96-98]", "900_*", "60-89,91-94,96-98", 37, &fleet.ArrayRef{JobID: 900, Task: -1, Tasks: "60-89,91-94,96-98", Count: 37}, nil},
		{"6_[0-99:3%2]", "6_*", "0-99:3", 34, &fleet.ArrayRef{JobID: 6, Task: -1, Tasks: "0-99:3", Count: 34, Limit: 2}, nil},
		{"8_[4]", "8_*", "4", 1, &fleet.ArrayRef{JobID: 8, Task: -1, Tasks: "4", Count: 1}, nil},
		{"501+0", "501+0", "", 1, nil, &fleet.HetRef{JobID: 501}},
		{"501+1", "501+1", "", 1, nil, &fleet.HetRef{JobID: 501, Offset: 1}},
	} {
		id, err := parseJobID(c.in)
		if err != nil || id.Key() != c.key || id.TaskSet() != c.tasks || id.Count() != c.count || id.Truncated {
			t.Errorf("%s: got %+v, %v: key %s, set %s, count %d", c.in, id, err, id.Key(), id.TaskSet(), id.Count())
		}
		if id.String() != c.in {
			t.Errorf("%s: shown as %s", c.in, id)
		}
		if diff := cmp.Diff(c.array, id.Array()); diff != "" {
			t.Errorf("%s: %s", c.in, diff)
		}
		if diff := cmp.Diff(c.het, id.HetRef()); diff != "" {
			t.Errorf("%s: %s", c.in, diff)
		}
	}
}

func TestC22_TruncatedTaskSetIsKnownAsSuch(t *testing.T) {
	for _, in := range []string{"8_[1,3,5...%2]", "8_[1,3,5,...]", "7_[1,3,5,7,9-12,20,33,44,55,66,", "7_[1,3,5"} {
		id, err := parseJobID(in)
		if err != nil || !id.Truncated || id.Count() != 0 || !id.Rest {
			t.Errorf("%s: got %+v, %v", in, id, err)
		}
		if _, err := actionID(in); !errors.Is(err, ErrInput) {
			t.Errorf("%s may be acted on: %v", in, err)
		}
	}
}

func TestC22_ActionNamesExactlyItsTasks(t *testing.T) {
	for in, want := range map[string]string{
		"4711":             "4711",
		"8_3":              "8_3",
		"8_[4-7,9%2]":      "8_[4-7,9]",
		"6_[0-9:3]":        "6_[0,3,6,9]",
		"9+1":              "9+1",
		"8_*":              "",
		"8_[*]":            "",
		"8;reboot":         "",
		"-1":               "",
		"1_[0-99999999:2]": "",
	} {
		got, err := actionID(in)
		if got != want || (want == "") != errors.Is(err, ErrInput) {
			t.Errorf("%s: got %q, %v", in, got, err)
		}
	}
}

func TestBadJobIDs(t *testing.T) {
	for _, in := range []string{"", "0", "x", "1.batch", "8_", "8_[]x", "8_[4-2]", "8_[1:2]", "8_3+1", "1+", "8_[1%x]", "99999999999", "8_-1"} {
		if id, err := parseJobID(in); !errors.Is(err, ErrInput) {
			t.Errorf("%q: got %+v, %v", in, id, err)
		}
	}
}

func FuzzParseJobID(f *testing.F) {
	for _, s := range []string{"4711", "8_3", "8_[4-7,9%2]", "6_[0-9:3]", "8_[1,3,5...%2]", "8_*", "9+1", "7_[1,3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parseJobID(text)
		if err != nil {
			return
		}
		again, err := parseJobID(id.String())
		if err != nil || again.Key() != id.Key() || again.TaskSet() != id.TaskSet() {
			t.Fatalf("%q is shown as %q and read as %+v, %v", text, id, again, err)
		}
		if arg, err := actionID(text); err == nil {
			if acted, err := parseJobID(arg); err != nil || acted.Count() != id.Count() {
				t.Fatalf("%q acts on %q: %d tasks, not %d", text, arg, acted.Count(), id.Count())
			}
		}
	})
}
