package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/remote"
	"github.com/gpuctl/gpuctl/internal/slurm"
	"github.com/gpuctl/gpuctl/test/slurmtest"
)

// transports opens the cluster every way, as the user over SSH and REST.
func transports(t testing.TB, c *slurmtest.Cluster, user string) map[string]slurm.Transport {
	t.Helper()
	pool := remote.NewPool(remote.Options{})
	t.Cleanup(func() { _ = pool.Close() })
	s := c.SSH(user)
	conn := pool.Conn(remote.Host{Alias: s.Host, Port: s.Port, User: s.User, ConfigFile: "none", IdentityFiles: []string{s.KeyFile}, KnownHosts: []string{s.KnownHosts}})
	rest, err := slurm.NewREST(slurm.RESTOptions{URL: c.RESTURL(), User: user, Token: &switched{token: token(t, c, user, time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]slurm.Transport{
		"exec": slurm.NewCommandTransport(slurm.NewExecRunner(slurm.ExecOptions{Conf: c.Conf()})),
		"ssh":  slurm.NewCommandTransport(slurm.NewSSHRunner(conn, slurm.SSHOptions{})),
		"rest": rest,
	}
}

// mixed fills the cluster with every kind of job and two drains.
func mixed(t testing.TB, c *slurmtest.Cluster) {
	t.Helper()
	idle(t, c)
	submit(t, c, "alice", "--nodes=2", "--ntasks-per-node=8", "--gres=gpu:8", "-J", "train")
	submit(t, c, "bob", "--gres=gpu:h100:2", "-J", "it's a|b, \"c\"", "--comment=run 7")
	submitPending(t, c, "alice", "--array=0-9%2", "--gres=gpu:1", "-J", "sweep")
	submitPending(t, c, "bob", "--hold", "--gres=gpu:4")
	submitPending(t, c, "bob", "--begin=now+1hour", "--gres=gpu:1")
	submitPending(t, c, "alice", "--nodes=7", "--gres=gpu:8", "-t", "30", "--exclude=gpu-node004")
	submitPending(t, c, "alice", "--gpus=2", "--ntasks=1", ":", "--gpus=1", "--ntasks=1")
	as(t, c, "gpuadm", "scontrol", "update", "nodename=gpu-node007", "state=drain", "reason=bad NVLink [see 12]")
	as(t, c, "gpuadm", "scontrol", "update", "nodename=gpu-node001", "state=drain", "reason=XID 79")
	done, err := c.Submit(t.Context(), "alice", "#!/bin/sh\nexit 3\n", "--gres=gpu:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WaitJob(t.Context(), done, "FAILED"); err != nil {
		t.Fatal(err)
	}
	err = c.Wait(t.Context(), "the scheduler to say why each job waits", func() bool {
		return !slices.Contains(strings.Fields(as(t, c, "root", "squeue", "-h", "-t", "pending", "-o", "%r")), "None")
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The three ways to one cluster give the same snapshot, field by field.
func threeTransportsAgree(t *testing.T, r *rig) {
	ways := transports(t, r.cluster, "gpuadm")
	// What changes by itself between two reads, and text that is only shown.
	nodes := cmp.Options{
		cmpopts.EquateEmpty(), cmpopts.EquateNaNs(),
		cmpopts.IgnoreFields(fleet.View{}, "Raw", "Load", "Memory.Free", "OS"),
		cmpopts.SortSlices(strings.Compare),
	}
	jobs := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(fleet.Job{}, "Raw")}
	if !r.cluster.Since(23, 11) { // older slurmrestd does not tell where a job is planned
		jobs = append(jobs, cmpopts.IgnoreFields(fleet.Job{}, "SchedNodes"))
	}

	var diff string
	for range 5 { // the cluster lives: a difference counts only when it stays
		views, list := map[string][]fleet.View{}, map[string][]fleet.Job{}
		for name, w := range ways {
			v, err := w.Nodes(t.Context())
			if err != nil {
				t.Fatalf("%s: nodes: %v", name, err)
			}
			j, err := w.Jobs(t.Context())
			if err != nil {
				t.Fatalf("%s: jobs: %v", name, err)
			}
			slices.SortFunc(v, func(a, b fleet.View) int { return strings.Compare(a.Node, b.Node) })
			slices.SortFunc(j, func(a, b fleet.Job) int { return strings.Compare(a.Key.ID, b.Key.ID) })
			views[name], list[name] = v, j
		}
		if len(views["exec"]) != 8 || len(list["exec"]) < 9 {
			t.Fatalf("%d nodes, %d jobs", len(views["exec"]), len(list["exec"]))
		}
		diff = ""
		for _, name := range []string{"ssh", "rest"} {
			if d := cmp.Diff(views["exec"], views[name], nodes); d != "" {
				diff += fmt.Sprintf("nodes, -exec +%s:\n%s", name, d)
			}
			if d := cmp.Diff(list["exec"], list[name], jobs); d != "" {
				diff += fmt.Sprintf("jobs, -exec +%s:\n%s", name, d)
			}
		}
		if diff == "" {
			return
		}
		time.Sleep(2 * time.Second)
	}
	t.Error(diff)
}
