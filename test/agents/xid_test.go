package agents

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/agenttest"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/remote"
	"github.com/gpuctl/gpuctl/test/fakenvml"
)

// agentCommand is the real gpuctl agent, on a fake driver library, of a host on which a
// process of Slurm job 4711 holds GPU 3.
func agentCommand(tb testing.TB, lib *fakenvml.State) []string {
	tb.Helper()
	binary := filepath.Join(tb.TempDir(), "gpuctl")
	if out, err := exec.CommandContext(tb.Context(), "go", "build", "-o", binary, "../../cmd/gpuctl").CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, out)
	}
	node := agenttest.NewNode(tb, 8)
	node.Process(4242, "python3", "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0")
	lib.Process(3, 4242, 1<<30, -1, -1)
	argv := append([]string{"env"}, lib.Env()...)
	return append(argv, binary, "agent", "--stdio", "--service", "", "--kernel-log", lib.KernelLog(), "--state-dir", node.StateDir, "--host-root", node.Root)
}

// An XID in the kernel log of a node is a finding on the console, over SSH, with the
// job, its user and advice.
func TestXIDIsAFindingOverSSH(t *testing.T) {
	host := startSSHD(t)
	lib := fakenvml.Build(t).State(t, 8, fakenvml.H100)
	command := agentCommand(t, lib)
	pool := remote.NewPool(remote.Options{})
	t.Cleanup(func() { pool.Close() })
	c := startConsole(t, sshWay(pool, host, command...), []string{"n1"})
	view := fleet.View{Cluster: "ai", Kind: fleet.Slurm, Node: "n1", Base: fleet.BaseMixed, GPUs: fleet.GPUCount{Total: 8, Allocated: 1, Model: "h100"}}
	view.UsedGRES = []fleet.GRES{{Name: "gpu", Count: 1, Indices: []int{3}}}
	job := fleet.Job{Key: fleet.JobKey{Cluster: "ai", ID: "4711"}, ID: "4711", RawID: 4711, Kind: fleet.Slurm, User: "alice", Base: fleet.JobRunning, Nodes: []string{"n1"}, GPUs: fleet.GPUDemand{Held: 1}}
	c.store.Update(fleet.Update{Source: "ai", At: time.Now(), Full: true, Views: []fleet.View{view}, Jobs: []fleet.Job{job}})
	await(t, "the owner", func() bool {
		g, _ := c.store.Latest().GPU(lib.UUID(3))
		return g != nil && len(g.Owners) == 1 && g.Owners[0].User == "alice" && g.Owners[0].Proven && len(g.Processes) == 1
	})

	changes, end := c.store.Subscribe()
	defer end()
	began := time.Now()
	lib.XID(3, 79, "pid=4242, name=python3, GPU has fallen off the bus.")
	timeout := time.After(time.Minute)
	for {
		select {
		case snap := <-changes:
			for _, f := range snap.Findings {
				if text := fmt.Sprint(f); strings.Contains(text, "79") && strings.Contains(text, lib.UUID(3)) {
					t.Logf("the finding was there after %s: %s", time.Since(began).Round(time.Millisecond), text)
					if f.Severity != fleet.Critical || f.Advice == "" || f.Blast.Jobs != 1 || len(f.Blast.Users) != 1 || f.Blast.Users[0] != "alice" {
						t.Errorf("%+v", f)
					}
					return
				}
			}
		case <-timeout:
			t.Fatalf("no finding in a minute; there are %+v", c.store.Latest().Findings)
		}
	}
}
