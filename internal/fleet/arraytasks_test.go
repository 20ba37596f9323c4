package fleet

import "testing"

func TestC22_NarrowNamesExactlyTheTasks(t *testing.T) {
	rest := &Job{Key: JobKey{ID: "8_*"}, ID: "8_[4-7,9%2]", Array: &ArrayRef{JobID: 8, Task: -1, Tasks: "4-7,9", Count: 5, Limit: 2}}
	for id, count := range map[string]int{"8_4": 1, "8_9": 1, "8_[5-7]": 3, "8_[4,9]": 2, "8_4-5": 2} {
		n, ok := rest.Narrow(id)
		if !ok || n.ID != id || n.Array.Count != count || n.Key != rest.Key {
			t.Errorf("%s: %+v %v", id, n, ok)
		}
	}
	for _, id := range []string{"8_3", "8_8", "8_[3-5]", "9_4", "8", "8_", "8_x", "8_[4-99999999999]", "8_[7-4]", "8_4:0"} {
		if n, ok := rest.Narrow(id); ok {
			t.Errorf("%s gave %+v", id, n)
		}
	}
	if n, _ := rest.Narrow("8_4"); n.Array.Task != 4 {
		t.Errorf("one task: %+v", n.Array)
	}
	if rest.Array.Count != 5 {
		t.Error("the rest itself must not change")
	}
}

func FuzzNarrow(f *testing.F) {
	f.Add("8_5", "4-7,9")
	f.Add("8_[0-98:3]", "0-98:3")
	f.Fuzz(func(t *testing.T, id, tasks string) {
		j := &Job{ID: "8_[x]", Array: &ArrayRef{JobID: 8, Task: -1, Tasks: tasks}}
		if n, ok := j.Narrow(id); ok && n.Array.Count < 1 {
			t.Errorf("%q of %q counts %d", id, tasks, n.Array.Count)
		}
	})
}
