package e2e

import (
	"bufio"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

type result struct {
	Result  string
	Message string
	Plan    struct {
		Blockers []struct{ Code, Text string }
		Steps    []struct{ Op, Command string }
	}
	Steps []struct {
		Name, Result, Detail string
		TookMS               int64 `json:"took_ms"`
	}
}

func (r *rig) act(code int, args ...string) result {
	r.t.Helper()
	a := r.want(code, append(args, "-o", "json")...)
	var res result
	if err := json.Unmarshal([]byte(a.stdout), &res); err != nil {
		r.t.Fatalf("gpuctl %v: %v\n%s\n%s", args, err, a.stdout, a.stderr)
	}
	return res
}

func (r *rig) node(name string) nodeItem {
	r.t.Helper()
	return items[nodeItem](r, "get", "nodes", name)[0]
}

func (r *rig) job(id string) jobItem {
	r.t.Helper()
	return items[jobItem](r, "get", "jobs", id)[0]
}

// everyWay runs a test as the administrator over exec, SSH, and REST with SSH for
// what the version's slurmrestd cannot do: side by side, each with a node of its own.
func everyWay(t *testing.T, test func(t *testing.T, r *rig, node string)) {
	c := bed.Cluster(t)
	idle(t, c)
	for i, way := range []struct {
		name string
		ways []string
	}{
		{"exec", []string{local}},
		{"ssh", []string{overSSH(c, "gpuadm")}},
		{"rest", []string{overREST(t, c, "gpuadm"), overSSH(c, "gpuadm")}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			test(t, newRig(t, "gpuadm", way.ways...), c.Nodes()[i])
		})
	}
}

func TestDrainAndUndrainABusyNode(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig, node string) {
		id := submit(t, r.cluster, "alice", "--nodelist="+node, "--gres=gpu:8")
		res := r.act(4, "drain", node, "--reason", "XID 79", "--yes", "--timeout", "6s")
		if res.Result != "not_verified" || res.Steps[0].Result != "verified" || res.Steps[1].Result != "not_verified" {
			t.Fatalf("%+v", res)
		}
		n := r.node(node).States[0]
		if !strings.Contains(n.Reason.Text, "XID 79") || n.Drained || !slices.Contains(n.Flags, "DRAIN") {
			t.Errorf("draining node reads %+v", n)
		}
		if st := r.job(id); st.Base != "RUNNING" {
			t.Errorf("the job must go on: %+v", st)
		}
		as(t, r.cluster, "root", "scancel", id)
		if res := r.act(0, "drain", node, "--reason", "again", "--yes", "--timeout", "60s"); res.Result != "verified" {
			t.Errorf("%+v", res)
		}
		if n := r.node(node).States[0]; !n.Drained || !strings.Contains(n.Reason.Text, "XID 79") {
			t.Errorf("drained node reads %+v", n)
		}
		if res := r.act(0, "undrain", node, "--yes"); res.Result != "verified" {
			t.Errorf("%+v", res)
		}
		if n := r.node(node).States[0]; n.Base != "IDLE" || len(n.Flags) > 0 {
			t.Errorf("returned node reads %+v", n)
		}
	})
}

func TestRequeueKeepsTheIDAndCountsTheRestart(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig, node string) {
		id := submit(t, r.cluster, "alice", "--nodelist="+node, "--gres=gpu:8")
		if res := r.act(0, "requeue", id, "--now", "--yes", "--timeout", "2m"); res.Result != "verified" {
			t.Fatalf("%+v", res)
		}
		j := r.job(id)
		if j.ID != id || j.Restarts != 1 {
			t.Errorf("%+v", j)
		}
		if err := r.cluster.WaitJob(t.Context(), id, "RUNNING"); err != nil {
			t.Error(err)
		}
	})
}

func TestHoldReleaseSuspendUpdate(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig, node string) {
		// In high, or the other would take its room once it is there too.
		blocker := submit(t, r.cluster, "alice", "--partition=high", "--nodelist="+node, "--gres=gpu:8")
		id := submitPending(t, r.cluster, "bob", "--nodelist="+node, "--gres=gpu:8", "-t", "60")
		r.act(0, "hold", id, "--yes")
		if j := r.job(id); !strings.HasPrefix(j.Reason.Code, "JobHeld") {
			t.Errorf("held: %+v", j)
		}
		r.act(0, "release", id, "--yes")
		r.act(0, "update", id, "--time-limit", "+30", "--yes")
		if j := r.job(id); j.Limit == nil || *j.Limit != 90*60 {
			t.Errorf("limit: %+v", j)
		}
		r.act(0, "update", id, "--exclude", "gpu-node008", "--partition", "high", "--yes")
		if j := r.job(id); j.Queue != "high" {
			t.Errorf("partition: %+v", j)
		}
		r.act(0, "suspend", blocker, "--yes")
		if j := r.job(blocker); j.Base != "SUSPENDED" {
			t.Errorf("suspended: %+v", j)
		}
		r.act(0, "unsuspend", blocker, "--yes")
		r.act(3, "hold", blocker, "--yes")
	})
}

func TestCancelOfOneArrayTaskTouchesThatTaskOnly(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig, node string) {
		id := submitPending(t, r.cluster, "alice", "--nodelist="+node, "--array=0-5%3", "--gres=gpu:1")
		if err := r.cluster.WaitJob(t.Context(), id+"_2", "RUNNING"); err != nil {
			t.Fatal(err)
		}
		r.act(0, "cancel", id+"_2", "--yes")
		r.act(0, "cancel", id+"_5", "--yes")
		states := map[string]string{}
		for line := range strings.FieldsSeq(as(t, r.cluster, "root", "squeue", "-h", "-r", "-t", "all", "-j", id, "-o", "%i=%T")) {
			k, v, _ := strings.Cut(line, "=")
			states[strings.TrimPrefix(k, id+"_")] = v
		}
		// A waiting task that is cancelled leaves no record of its own.
		for task, want := range map[string]string{"0": "RUNNING", "1": "RUNNING", "2": "CANCELLED", "3": "PENDING RUNNING", "4": "PENDING RUNNING", "5": ""} {
			if got := states[task]; !strings.Contains(want, got) || got == "" && want != "" {
				t.Errorf("task %s is %q, want %q (%v)", task, got, want, states)
			}
		}
	})
}

func TestPreemptGivesTheRoomToTheJobThatWaits(t *testing.T) {
	r := newRig(t, "gpuadm", overSSH(bed.Cluster(t), "gpuadm"))
	idle(t, r.cluster)
	low := submit(t, r.cluster, "alice", "--nodes=8", "--gres=gpu:8")
	high := submitPending(t, r.cluster, "bob", "--nodes=8", "--gres=gpu:8")
	res := r.act(0, "preempt", low, "--for", high, "--yes", "--timeout", "3m")
	if res.Result != "verified" {
		t.Fatalf("%+v", res)
	}
	if a, b := r.job(low), r.job(high); a.Base != "PENDING" || a.Restarts != 1 || b.Base != "RUNNING" || b.GPUs.Held != 64 {
		t.Errorf("victim %+v\nheir %+v", a, b)
	}
}

func TestMissingRightIsNamed(t *testing.T) {
	c := bed.Cluster(t)
	for user, want := range map[string]string{"gpuop": "AdminLevel=Administrator", "alice": "AdminLevel=Administrator"} {
		for way, text := range map[string]string{"exec": local, "ssh": overSSH(c, user)} {
			t.Run(user+" "+way, func(t *testing.T) {
				r := newRig(t, user, text)
				idle(t, r.cluster)
				if a := r.want(3, "drain", "gpu-node002", "--reason", "x", "--yes"); !strings.Contains(a.stderr, want) {
					t.Errorf("%s", a.stderr)
				}
			})
		}
	}
	r := newRig(t, "bob", local)
	id := submit(t, c, "alice", "--gres=gpu:1")
	for _, verb := range []string{"requeue", "cancel", "preempt", "suspend"} {
		if a := r.want(3, verb, id, "--yes"); !strings.Contains(a.stderr, "AdminLevel=Operator") {
			t.Errorf("%s: %s", verb, a.stderr)
		}
	}
}

// What slurmctld logs of changes proves that nothing was sent.
func TestDryRunAndReadOnlySendNothing(t *testing.T) {
	r := newRig(t, "gpuadm", local)
	idle(t, r.cluster)
	id := submit(t, r.cluster, "alice", "--gres=gpu:8")
	before := changes(t, r)
	r.act(0, "drain", "gpu-node002", "--reason", "x", "--dry-run")
	for _, verb := range []string{"requeue", "cancel", "preempt", "suspend"} {
		r.act(0, verb, id, "--dry-run")
		if res := r.act(3, verb, id, "--yes", "--read-only"); res.Result != "refused" {
			t.Errorf("%s --read-only: %+v", verb, res)
		}
	}
	r.act(3, "drain", "gpu-node002", "--reason", "x", "--yes", "--read-only")
	r.act(3, "cancel", id)                              // not confirmed
	as(t, r.cluster, "root", "scontrol", "suspend", id) // would be seen, and so would what came before it
	var after []string
	err := r.cluster.Wait(t.Context(), "the log to have a change", func() bool {
		after = changes(t, r)[len(before):]
		return len(after) > 0
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != 1 || !strings.Contains(after[0], "suspend") {
		t.Errorf("slurmctld was told something:\n%s", strings.Join(after, "\n"))
	}
}

// changes is what slurmctld logged of changes, without its own scheduling and accounting.
func changes(t *testing.T, r *rig) []string {
	t.Helper()
	log, err := r.cluster.ControllerLog()
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.SplitSeq(log, "\n") {
		low := strings.ToLower(line)
		for _, word := range []string{"update_job", "update_node", "kill_job", "_slurm_rpc_kill", "_slurm_rpc_requeue", "_slurm_rpc_suspend", "_slurm_rpc_update", "requeue", "drain"} {
			if strings.Contains(low, word) {
				kept = append(kept, line)
				break
			}
		}
	}
	return kept
}

func TestGuards(t *testing.T) {
	r := newRig(t, "gpuadm", local)
	idle(t, r.cluster)
	if a := r.want(3, "drain", "gpu-node[001-006]", "--reason", "x", "--yes"); !strings.Contains(a.stderr, "--confirm lab") {
		t.Errorf("six nodes must be typed for: %s", a.stderr)
	}
	if a := r.want(3, "drain", "gpu-node[001-007]", "--reason", "x", "--confirm", "lab"); !strings.Contains(a.stderr, "at most 6") {
		t.Errorf("seven nodes are over the cap: %s", a.stderr)
	}
	r.want(0, "drain", "gpu-node[001-002]", "--reason", "x", "--yes")
	r.want(0, "undrain", "gpu-node[001-002]", "--yes")
	r.want(2, "drain", "gpu-node[001-", "--reason", "x", "--yes")
	if a := r.run("drain", "gpu-node00[1-2],gpu-node999", "--reason", "x", "--yes"); a.code != 1 && a.code != 2 || !strings.Contains(a.stderr, "gpu-node999") {
		t.Errorf("%+v", a)
	}
}

func TestAuditKeepsWhatWasDone(t *testing.T) {
	r := newRig(t, "gpuadm", local)
	idle(t, r.cluster)
	r.want(0, "drain", "gpu-node004", "--reason", "fan noise", "--ticket", "OPS-7", "--yes")
	for _, f := range []string{"table", "json", "markdown"} {
		if out := r.want(0, "audit", "--since", "1h", "-o", f).stdout; !strings.Contains(out, "gpu-node004") || !strings.Contains(out, "OPS-7") {
			t.Errorf("%s:\n%s", f, out)
		}
	}
	if out := r.want(0, "audit", "-o", "markdown").stdout; !strings.Contains(out, "Still open") {
		t.Errorf("a drained node is still open:\n%s", out)
	}
}

// A gpuctl killed in the middle leaves a journal that says what was done.
func TestKilledInTheMiddleOfADrain(t *testing.T) {
	r := newRig(t, "gpuadm", local)
	idle(t, r.cluster)
	submit(t, r.cluster, "alice", "--nodelist=gpu-node005", "--gres=gpu:8")
	cmd := r.command(t.Context(), "drain", "gpu-node005", "--reason", "XID 79", "--yes", "--timeout", "5m")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	for said.Scan() && !strings.HasPrefix(said.Text(), "  2  ") { // the wait has begun
	}
	if _, err := r.cluster.As(t.Context(), "root", "pkill", "-KILL", "-f", r.dir+"/config.yaml"); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if out := r.run("doctor").stdout; !strings.Contains(out, "drain gpu-node005") || !strings.Contains(out, "set DRAIN on gpu-node005") {
		t.Errorf("doctor must say what was done and what was not:\n%s", out)
	}
}
