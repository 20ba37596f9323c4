package triage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

func TestExplainNodeReason(t *testing.T) {
	for text, c := range map[string]struct{ author, plain, advice, owner, undone string }{
		"gpuctl:bob: ECC errors":                                {"gpuadm", "bob drained it with gpuctl: ECC errors", "ask bob", "bob", ""},
		"gpuctl: ECC errors":                                    {"gpuadm", "drained with gpuctl: ECC errors", "audit", "gpuctl", ""},
		"NHC: check_fs_mount: /scratch not mounted":             {"root", "health check failed: check_fs_mount", "by hand", "NHC", "NHC resumes"},
		"gres/gpu count reported lower than configured (7 < 8)": {"slurm", "slurmd finds 7 of 8 gpus: 1 missing", "nvidia-smi", "slurmctld", "the drain stays"},
		"Not responding":                                        {"slurm", "does not answer slurmctld", "power-cycle", "slurmctld", "ReturnToService"},
		"Node unexpectedly rebooted":                            {"slurm", "without being asked", "kernel panic", "slurmctld", ""},
		"Low RealMemory (reported:1 < 100.00% of configured:2)": {"slurm", "less than is configured", "slurmd -C", "slurmctld", "the drain stays"},
		"Prolog error":                                          {"root", "prolog failed", "slurmd's log", "slurmd", ""},
		"reboot ASAP : reboot issued":                           {"root", "being rebooted", "ResumeTimeout", "slurmctld", "after the reboot"},
		"ResumeTimeout reached":                                 {"slurm", "did not come up", "console", "slurmctld", ""},
		"swap PSU":                                              {"alice", "swap PSU", "ask alice", "alice", ""},
		"swap PSU again":                                        {"", "swap PSU", "find out who", "", ""},
		"something new":                                         {"slurm", "slurmctld says: something new", "logs", "slurmctld", ""},
		"script":                                                {"root", "script", "health check", "root", ""},
		"":                                                      {"", "no reason", "ask who", "", ""},
	} {
		got := ExplainNodeReason(fleet.Reason{Text: text, Author: c.author})
		if !strings.Contains(got.Plain, c.plain) || !strings.Contains(got.Advice, c.advice) || got.Owner != c.owner ||
			!strings.Contains(got.UndoneBy, c.undone) || (c.undone == "") != (got.UndoneBy == "") {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// C97: every program that writes and takes back reasons is known by its prefix.
func TestC97_ReasonOwners(t *testing.T) {
	for text, owner := range map[string]string{
		"k8s: node not ready": "SUNK", "slurm-operator: pod gone": "slurm-operator", "[node_problem] XID 79": "soperator",
		"[hardware_problem] x": "soperator", "[compute_maintenance] y": "soperator",
	} {
		if got := ExplainNodeReason(fleet.Reason{Text: text, Author: "root"}); got.Owner != owner || got.UndoneBy == "" || !got.Known {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestC55_KillTaskFailed(t *testing.T) {
	got := ExplainNodeReason(fleet.Reason{Text: "Kill task failed", Author: "root"})
	if got.Owner != "slurmd" || !strings.Contains(got.Advice, "process that cannot be killed") || !strings.Contains(got.Advice, "blind undrain fails") {
		t.Errorf("%+v", got)
	}
}

// C07: slurmctld's own reason is shown as one, with its author.
func TestC07_SlurmctldsOwnReason(t *testing.T) {
	s := fleetOf([]*fleet.Node{node("gn002", fleet.BaseDown, fleet.Reason{Text: "Not responding", Author: "slurm", At: now}, fleet.FlagNotResponding)})
	f := Evaluate(s)
	if len(f) != 1 || f[0].Rule != RuleNodeNoResponse || !strings.Contains(strings.Join(f[0].Evidence, "\n"), "reason written by slurm") || !f[0].Since.Equal(now) {
		t.Errorf("%+v", f)
	}
}

func TestEvaluateNodes(t *testing.T) {
	person := fleet.Reason{Text: "swap PSU", Author: "alice", At: now}
	job := runningJob("4711", "alice", 512, "n1", "n2")
	for name, c := range map[string]struct {
		node *fleet.Node
		want string // rule severity gpus jobs first action
	}{
		"healthy":        {node("n9", fleet.BaseIdle, fleet.Reason{}), ""},
		"busy":           {node("n1", fleet.BaseAllocated, fleet.Reason{}), ""},
		"unknown words":  {node("n9", "SULKING", fleet.Reason{}, "PURPLE"), ""},
		"down":           {node("n9", fleet.BaseDown, person), "slurm-node-down warning 8 0 drain"},
		"down, drained":  {node("n9", fleet.BaseDown, person, fleet.FlagDrain), "slurm-node-down warning 8 0 undrain"},
		"silent":         {node("n1", fleet.BaseAllocated, fleet.Reason{}, fleet.FlagNotResponding), "slurm-node-not-responding critical 512 1 drain"},
		"drained":        {node("n9", fleet.BaseIdle, person, fleet.FlagDrain), "slurm-node-drained info 8 0 undrain"},
		"draining":       {node("n1", fleet.BaseMixed, person, fleet.FlagDrain), "slurm-node-draining info 8 1 undrain"},
		"by NHC":         {node("n9", fleet.BaseIdle, fleet.Reason{Text: "NHC: x", Author: "root"}, fleet.FlagDrain), "slurm-node-drained warning 8 0 undrain"},
		"unkillable":     {node("n1", fleet.BaseMixed, fleet.Reason{Text: "Kill task failed", Author: "root"}, fleet.FlagDrain), "slurm-kill-task-failed warning 8 1 undrain"},
		"GPU count":      {node("n9", fleet.BaseIdle, fleet.Reason{Text: "gres/gpu count reported lower than configured (7 < 8)"}, fleet.FlagDrain), "slurm-node-invalid warning 8 0 undrain"},
		"invalid":        {node("n9", fleet.BaseInval, fleet.Reason{}, fleet.FlagDrain), "slurm-node-invalid warning 8 0 undrain"},
		"failing":        {node("n1", fleet.BaseMixed, person, fleet.FlagFail), "slurm-node-failing critical 512 1 drain"},
		"powered down":   {node("n9", fleet.BaseIdle, fleet.Reason{}, fleet.FlagCloud, fleet.FlagPoweredDown), ""},
		"being rebooted": {node("n9", fleet.BaseDown, fleet.Reason{}, fleet.FlagRebootIssued, fleet.FlagNotResponding), ""},
	} {
		got := ""
		for _, f := range Evaluate(fleetOf([]*fleet.Node{c.node}, job)) {
			got += fmt.Sprint(f.Rule, " ", f.Severity, " ", f.Blast.GPUs, " ", f.Blast.Jobs, " ", f.Actions[0])
			if f.Title == "" || f.Advice == "" || len(f.Evidence) == 0 || f.ID != f.Rule+"/ai/"+c.node.Name {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestEvaluateJobs(t *testing.T) {
	loop := runningJob("9", "bob", 16)
	loop.Restarts = 3
	done := runningJob("10", "bob", 16)
	done.Base, done.Restarts = fleet.JobFailed, 9
	never := pending("DependencyNeverSatisfied", "")
	held := pending("JobHeldUser", "")
	var got []string
	for _, f := range Evaluate(fleetOf(nil, loop, done, never, held)) {
		got = append(got, fmt.Sprint(f.Rule, " ", f.Severity, " ", f.Blast.GPUs, " ", f.Blast.Users))
	}
	if s := strings.Join(got, ", "); s != "slurm-job-loops warning 16 [bob], slurm-job-never-starts info 64 [alice]" {
		t.Error(s)
	}
}

func TestEvaluateSources(t *testing.T) {
	s := fleetOf([]*fleet.Node{node("n1", fleet.BaseDown, fleet.Reason{})}, runningJob("1", "alice", 8))
	s.Nodes[0].Views = append(s.Nodes[0].Views, fleet.View{Cluster: "k8s", Kind: fleet.Kubernetes, Base: fleet.BaseIdle})
	s.Nodes[0].Views[0].Oddities = []string{`word "FOO"`}
	s.Nodes[0].Disagree = "down in ai, open in k8s"
	rules := func() string {
		var out []string
		for _, f := range Evaluate(s) {
			out = append(out, f.Rule)
		}
		return strings.Join(out, " ")
	}
	s.Sources[0].NotUnder = 1
	if got := rules(); got != "slurm-node-down views-disagree not-understood" {
		t.Errorf("live: %s", got)
	}
	s.Sources[0].Status, s.Sources[0].LastError, s.Sources[0].ErrorSince = fleet.SourceDown, "login1 does not answer", now.Add(-time.Minute)
	if got := rules(); got != "source-down slurm-node-down" {
		t.Errorf("down: %s", got)
	}
	f := Evaluate(s)
	if f[0].Blast.GPUs != 8 || f[0].Blast.Jobs != 1 || f[0].Evidence[0] != "login1 does not answer" || !strings.Contains(strings.Join(f[1].Evidence, " "), "as of 14:00:00Z") {
		t.Errorf("%+v", f)
	}
	s.Sources[0].Status = fleet.SourceStale
	if got := rules(); got != "source-stale slurm-node-down views-disagree not-understood" && got != "slurm-node-down views-disagree source-stale not-understood" {
		t.Errorf("stale: %s", got)
	}
}

func TestEvaluateRanksByBlastRadius(t *testing.T) {
	big := runningJob("1", "alice", 512, "n1")
	s := fleetOf([]*fleet.Node{
		node("n3", fleet.BaseDown, fleet.Reason{}), node("n2", fleet.BaseMixed, fleet.Reason{}, fleet.FlagNotResponding),
		node("n1", fleet.BaseMixed, fleet.Reason{}, fleet.FlagNotResponding),
	}, big, runningJob("2", "bob", 8, "n2"))
	var got []string
	for _, f := range Evaluate(s) {
		got = append(got, f.Subject.Name)
	}
	if strings.Join(got, " ") != "n1 n2 n3" {
		t.Errorf("%q", got)
	}
	if Evaluate(&fleet.Snapshot{}) != nil {
		t.Error("an empty fleet has no findings")
	}
}

func FuzzExplainNodeReason(f *testing.F) {
	for _, s := range []string{"gpuctl:bob: x", "gres/gpu count reported lower than configured (7 < 8)", "k8s:", "[node_problem]", "NHC", "\xff"} {
		f.Add(s, "root")
	}
	f.Fuzz(func(t *testing.T, text, author string) {
		if n := ExplainNodeReason(fleet.Reason{Text: text, Author: author}); n.Plain == "" {
			t.Errorf("%q by %q: no words", text, author)
		}
	})
}

func FuzzExplainPending(f *testing.F) {
	f.Add("ReqNodeNotAvail", "UnavailableNodes:n[1-999999]", "afterok:1(x):,?after:+")
	f.Add("QOSMaxGRESPerUser", "", "")
	f.Add("Dependency", "", "afterok:8_*,singleton?after:3+4")
	s := fleetOf(nil)
	f.Fuzz(func(t *testing.T, code, text, depends string) {
		j := pending(code, text)
		j.Dependency = depends
		if e := ExplainPending(j, s); e.Plain == "" {
			t.Errorf("%q, %q: no words", code, text)
		}
	})
}

func BenchmarkEvaluateLargeFleet(b *testing.B) {
	var nodes []*fleet.Node
	for i := range 7500 {
		n := node(fmt.Sprintf("n%04d", i), fleet.BaseMixed, fleet.Reason{})
		if i%20 == 0 {
			n = node(n.Name, fleet.BaseIdle, fleet.Reason{Text: "NHC: check", Author: "root"}, fleet.FlagDrain)
		}
		nodes = append(nodes, n)
	}
	var jobs []*fleet.Job
	for i := range 20_000 {
		jobs = append(jobs, runningJob(fmt.Sprint(i), "bob", 8, fmt.Sprintf("n%04d", i%7500)))
	}
	s := fleetOf(nodes, jobs...)
	b.ReportAllocs()
	for b.Loop() {
		Evaluate(s)
	}
}
