package actions_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// mixedFleet has a host on two clusters, a node under another name, an array, a
// het job, and a job id that was used twice.
func mixedFleet() *fleet.Snapshot {
	view := func(cluster, node string) fleet.View { return fleet.View{Cluster: cluster, Node: node} }
	job := func(cluster, id, key string, submit int64, base string) *fleet.Job {
		return &fleet.Job{ID: id, Key: fleet.JobKey{Cluster: cluster, ID: key, Submit: submit}, Base: base}
	}
	rest := job("slurm", "8_[4-7]", "8_*", 10, fleet.JobPending)
	rest.Array = &fleet.ArrayRef{JobID: 8, Task: -1, Count: 4}
	task := job("slurm", "8_3", "8_3", 10, fleet.JobRunning)
	task.Array = &fleet.ArrayRef{JobID: 8, Task: 3, Count: 1}
	ended := job("slurm", "8_2", "8_2", 10, fleet.JobCompleted)
	ended.Array = &fleet.ArrayRef{JobID: 8, Task: 2, Count: 1}
	leader, second := job("slurm", "9+0", "9+0", 10, fleet.JobRunning), job("slurm", "9+1", "9+1", 10, fleet.JobRunning)
	leader.Het, second.Het = &fleet.HetRef{JobID: 9}, &fleet.HetRef{JobID: 9, Offset: 1}
	return fleet.NewSnapshot(fleet.Snapshot{
		Clusters: []fleet.Cluster{{Name: "kube"}, {Name: "slurm"}},
		Nodes: []*fleet.Node{
			{Name: "gn001", Views: []fleet.View{view("kube", "ip-10-0-0-1"), view("slurm", "gn001")}},
			{Name: "gn002", Views: []fleet.View{view("slurm", "gn002")}},
			{Name: "gn003", Views: []fleet.View{view("slurm", "gn003")}},
		},
		Jobs: []*fleet.Job{
			rest, task, ended, leader, second,
			job("slurm", "5", "5", 10, fleet.JobCompleted), job("slurm", "5", "5", 90, fleet.JobRunning),
			job("slurm", "6", "6", 10, fleet.JobFailed), job("slurm", "6", "6", 90, fleet.JobFailed),
			job("slurm", "7", "7", 10, fleet.JobRunning), job("kube", "7", "7", 10, fleet.JobRunning),
		},
	})
}

func TestResolveNodes(t *testing.T) {
	for name, c := range map[string]struct {
		cluster string
		args    []string
		want    []string // cluster/name
		err     string
	}{
		"host list":        {"slurm", []string{"gn[001-003]"}, []string{"slurm/gn001", "slurm/gn002", "slurm/gn003"}, ""},
		"no choice":        {"", []string{"gn002,gn003"}, []string{"slurm/gn002", "slurm/gn003"}, ""},
		"said twice":       {"", []string{"gn002", "gn[002-003]"}, []string{"slurm/gn002", "slurm/gn003"}, ""},
		"scheduler's name": {"kube", []string{"ip-10-0-0-1"}, []string{"kube/gn001"}, ""},
		"two clusters":     {"", []string{"gn001"}, nil, "gn001 is on kube and slurm: say which with --cluster"},
		"not there":        {"kube", []string{"gn002"}, nil, "gn002 is not a node of kube"},
		"one and all":      {"slurm", []string{"gn[002-005]"}, nil, "gn004 is not in the fleet, gn005 is not in the fleet; nothing was done"},
		"no such cluster":  {"prod", []string{"gn002"}, nil, `there is no cluster "prod"`},
		"bad host list":    {"slurm", []string{"gn[002"}, nil, "not a host list"},
		"too many":         {"slurm", []string{"gn[1-999999999]"}, nil, "too many hosts"},
		"nothing":          {"slurm", nil, nil, "no name given"},
		"blank":            {"slurm", []string{" "}, nil, "no name given"},
	} {
		t.Run(name, func(t *testing.T) {
			targets, err := actions.ResolveNodes(mixedFleet(), c.cluster, c.args)
			checkResolved(t, targets, err, c.want, c.err)
		})
	}
}

func TestResolveJobs(t *testing.T) {
	for name, c := range map[string]struct {
		cluster string
		ids     []string
		want    []string
		err     string
	}{
		"array":           {"", []string{"8"}, []string{"slurm/8_[4-7]", "slurm/8_3"}, ""},
		"array task":      {"", []string{"8_3"}, []string{"slurm/8_3"}, ""},
		"ended task":      {"", []string{"8_2"}, []string{"slurm/8_2"}, ""},
		"het job":         {"", []string{"9"}, []string{"slurm/9+0", "slurm/9+1"}, ""},
		"id used again":   {"", []string{"5"}, []string{"slurm/5"}, ""},
		"newest of ended": {"", []string{"6"}, []string{"slurm/6"}, ""},
		"two clusters":    {"", []string{"7"}, nil, "job 7 is on slurm and kube: say which with --cluster"},
		"one cluster":     {"kube", []string{"7"}, []string{"kube/7"}, ""},
		"one and all":     {"slurm", []string{"7", "404"}, nil, "no job 404 on slurm; nothing was done"},
	} {
		t.Run(name, func(t *testing.T) {
			targets, err := actions.ResolveJobs(mixedFleet(), c.cluster, c.ids)
			checkResolved(t, targets, err, c.want, c.err)
			for _, target := range targets {
				if (target.Name == "5" || target.Name == "6") && target.Job.Submit != 90 {
					t.Errorf("job %s of submit time %d", target.Name, target.Job.Submit)
				}
			}
		})
	}
}

func TestPlanSaysHowManyAnArrayIs(t *testing.T) {
	r := newRig(t)
	r.snap = mixedFleet()
	for id, want := range map[string][]string{
		"8": {"job array 8 on slurm: 5 tasks"}, "8_3": nil, "8_[4-7]": {"job array 8 on slurm: 4 tasks"},
		"9": {"heterogeneous job 9 on slurm: 2 components"}, "5": nil,
	} {
		engine := actions.NewEngine(actions.EngineOptions{
			Backends: map[string]actions.Backend{"slurm": r.a}, Auditor: r.audit, Journal: actions.NewJournal(r.dir),
			Snapshot: func() *fleet.Snapshot { return r.snap },
		})
		targets, err := actions.ResolveJobs(r.snap, "", []string{id})
		if err != nil {
			t.Fatal(err)
		}
		p, err := engine.Plan(t.Context(), actions.Request{Verb: actions.Cancel, Targets: targets})
		if err != nil || !slices.Equal(p.Warnings, want) {
			t.Errorf("%s: warnings %v, want %v; %v", id, p.Warnings, want, err)
		}
	}
}

func checkResolved(t *testing.T, targets []actions.Target, err error, want []string, wantErr string) {
	t.Helper()
	if wantErr != "" {
		if !errors.Is(err, actions.ErrInput) || targets != nil {
			t.Fatalf("targets %v, error %v", targets, err)
		}
		wantContains(t, err.Error(), wantErr)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, target := range targets {
		got = append(got, target.Cluster+"/"+target.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("targets %v, want %v", got, want)
	}
}

// Tasks that two of the names mean are touched once.
func TestC22_OverlappingTasks(t *testing.T) {
	rest := &fleet.Job{ID: "8_[1-9:2,12%3]", Key: fleet.JobKey{Cluster: "slurm", ID: "8_*", Submit: 10}, Base: fleet.JobPending}
	rest.Array = &fleet.ArrayRef{JobID: 8, Task: -1, Tasks: "1-9:2,12", Count: 6, Limit: 3}
	snap := fleet.NewSnapshot(fleet.Snapshot{Clusters: []fleet.Cluster{{Name: "slurm"}}, Jobs: []*fleet.Job{rest}})
	for _, c := range []struct{ ids, want []string }{
		{[]string{"8_5", "8_5", "8_[3-7:2]"}, []string{"8_[3-7:2]"}},
		{[]string{"8_[3-7:2]", "8_12", "8"}, []string{"8_[1-9:2,12%3]"}},
		{[]string{"8_[3,5]", "8_[5,7]"}, []string{"8_[3,5]", "8_[5,7]"}},
		{[]string{"8_*", "8_1"}, []string{"8_[1-9:2,12%3]"}},
		{[]string{"8_1", "8_12"}, []string{"8_1", "8_12"}},
	} {
		targets, err := actions.ResolveJobs(snap, "", c.ids)
		var got []string
		for _, target := range targets {
			got = append(got, target.Name)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, %v", c.ids, got, err)
		}
	}
	for _, id := range []string{"8_2", "8_[1-9]", "8_[3-13:2]", "8_", "8_[]", "8_[5", "8_5%2", "8_-1", "8_99999999999"} {
		if targets, err := actions.ResolveJobs(snap, "", []string{id}); !errors.Is(err, actions.ErrInput) {
			t.Errorf("%s: got %+v, %v", id, targets, err)
		}
	}
}
