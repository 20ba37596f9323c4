package slurmtest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// start brings up a cluster for one test.
func start(t *testing.T, o Options) (context.Context, *Cluster) {
	t.Helper()
	if ok, why := Available(); !ok {
		t.Skip(why)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	began := time.Now()
	c, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("slurm %s with %d nodes up after %s", c.Version(), len(c.Nodes()), time.Since(began).Round(10*time.Millisecond))
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if left := withEnv(c.mark()); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
		if exists(c.Dir()) {
			t.Errorf("%s is left", c.Dir())
		}
	})
	return ctx, c
}

func TestCluster(t *testing.T) {
	ctx, c := start(t, Options{})
	for _, s := range []struct {
		name string
		run  func(*testing.T, context.Context, *Cluster)
	}{
		{"job runs with GPUs", jobRuns},
		{"drain by rights", drainByRights},
		{"accounts", accountsAreSet},
		{"rest", restAnswers},
		{"ssh", sshWorks},
		{"controller restart", controllerRestarts},
		{"node dies", nodeDies},
		{"loopback only", loopbackOnly},
		{"open", opensFromElsewhere},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, ctx, c) })
	}
}

func TestBigCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("64 nodes: not in a short run")
	}
	ctx, c := start(t, Options{Nodes: 64})
	out := as(t, ctx, c, Alice, "srun", "-N", "64", "--gpus-per-node=8", "sh", "-c", "echo $SLURMD_NODENAME")
	if n := len(strings.Fields(out)); n != 64 {
		t.Errorf("job ran on %d nodes, want 64", n)
	}
}

func TestSweepClearsAwayOrphans(t *testing.T) {
	ctx, c := start(t, Options{Nodes: 1})
	// As if this process had been killed: another owner, whose pid nobody has.
	raw, err := os.ReadFile(c.path(stateFile))
	if err != nil {
		t.Fatal(err)
	}
	raw = bytes.Replace(raw, []byte(`"OwnerStart": `), []byte(`"OwnerStart": 9`), 1)
	if err := os.WriteFile(c.path(stateFile), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if left := withEnv(c.mark()); len(left) > 0 || exists(c.Dir()) {
		t.Errorf("the orphan is left: %v", left)
	}
}

func TestTheDeadHaveNoDescendants(t *testing.T) {
	self, err := newProcess(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	if got := withDescendants([]process{self}); len(got) < 2 {
		t.Errorf("the parent of this process has descendants, found %v", got)
	}
	for _, dead := range []process{{}, {pid: 1}, {pid: self.pid, start: self.start + 1}} {
		if got := withDescendants([]process{dead}); len(got) != 1 {
			t.Errorf("%v: found %d descendants", dead, len(got)-1)
		}
	}
}

func TestStopWhatDoesNotRun(t *testing.T) {
	c := &Cluster{opts: Options{Dir: t.TempDir(), Nodes: 1}}
	c.StopSSHD()
	c.StopREST()
	c.StopController()
	c.StopNode("gpu-node001")
}

func as(t *testing.T, ctx context.Context, c *Cluster, user string, argv ...string) string {
	t.Helper()
	out, err := c.As(ctx, user, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func jobRuns(t *testing.T, ctx context.Context, c *Cluster) {
	id, err := c.Submit(ctx, Alice, "echo $CUDA_VISIBLE_DEVICES; sleep 600", "--gres=gpu:2", "--job-name=train")
	if err != nil {
		t.Fatal(err)
	}
	if err = c.WaitJob(ctx, id, "RUNNING"); err != nil {
		t.Fatal(err)
	}
	out := as(t, ctx, c, Bob, "squeue", "-h", "-j", id, "-o", "%u %T %j")
	if want := "alice RUNNING train\n"; out != want {
		t.Errorf("squeue: %q, want %q", out, want)
	}
	file := c.path("home", Alice, "slurm-"+id+".out")
	err = c.Wait(ctx, "the job's output", func() bool {
		raw, _ := os.ReadFile(file)
		return string(raw) == "0,1\n"
	})
	if err != nil {
		t.Error(err)
	}
	as(t, ctx, c, GPUOp, "scancel", id)
	if err := c.WaitJob(ctx, id, "CANCELLED"); err != nil {
		t.Error(err)
	}
}

func drainByRights(t *testing.T, ctx context.Context, c *Cluster) {
	node := c.Nodes()[0]
	drain := []string{"scontrol", "update", "nodename=" + node, "state=drain", "reason=test"}
	if _, err := c.As(ctx, GPUOp, drain...); err == nil || !strings.Contains(err.Error(), "Invalid user id") {
		t.Errorf("drain as operator: %v, want Invalid user id", err)
	}
	as(t, ctx, c, GPUAdm, drain...)
	if out := as(t, ctx, c, Alice, "sinfo", "-hN", "-p", "low", "-n", node, "-o", "%T %E"); out != "drained test\n" {
		t.Errorf("drained node: %q", out)
	}
	as(t, ctx, c, GPUAdm, "scontrol", "update", "nodename="+node, "state=resume")
}

func accountsAreSet(t *testing.T, ctx context.Context, c *Cluster) {
	out := as(t, ctx, c, "root", "sacctmgr", "-nP", "show", "user", "format=user,defaultaccount,adminlevel")
	want := "alice|research|None\nbob|research|None\ngpuadm|prod|Administrator\ngpuop|prod|Operator\nroot|root|Administrator\n"
	if out != want {
		t.Errorf("users: %q, want %q", out, want)
	}
	id, err := c.Submit(ctx, Alice, "true", "--qos=gpulimit", "--gres=gpu:5")
	if err != nil {
		t.Fatal(err)
	}
	err = c.Wait(ctx, "the limit to hold the job", func() bool {
		return as(t, ctx, c, Alice, "squeue", "-h", "-j", id, "-o", "%r") == "QOSMaxGRESPerUser\n"
	})
	if err != nil {
		t.Error(err)
	}
	as(t, ctx, c, Alice, "scancel", id)
}

func restAnswers(t *testing.T, ctx context.Context, c *Cluster) {
	api := "v0.0.38"
	if c.Since(24, 5) {
		api = "v0.0.42"
	}
	token, err := c.Token(ctx, Alice, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	get(t, ctx, http.DefaultClient, c.RESTURL()+"/slurm/"+api+"/ping", Alice, token)

	socket := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", c.RESTSocket())
	}}}
	get(t, ctx, socket, "http://socket/slurm/"+api+"/nodes", "", "")

	c.StopREST()
	if c.accepts(portREST) {
		t.Error("slurmrestd listens after StopREST")
	}
	if err := c.StartREST(ctx); err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, ctx context.Context, client *http.Client, url, user, token string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("X-SLURM-USER-NAME", user)
		req.Header.Set("X-SLURM-USER-TOKEN", token)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"errors"`)) {
		t.Errorf("GET %s: %s, %v: %.300s", url, res.Status, err, body)
	}
}

func sshWorks(t *testing.T, ctx context.Context, c *Cluster) {
	a := c.SSH(GPUOp)
	login := func() (string, error) {
		out, err := exec.CommandContext(ctx, "ssh", "-F", a.Config, "-o", "BatchMode=yes", a.User+"@testbed", "id -un; sinfo -h -o %D -p low; echo ok").CombinedOutput()
		return string(out), err
	}
	if out, err := login(); err != nil || out != "gpuop\n8\nok\n" {
		t.Errorf("ssh: %q, %v", out, err)
	}
	open := exec.CommandContext(ctx, "ssh", "-F", a.Config, "-o", "BatchMode=yes", a.User+"@testbed", "echo up; sleep 600")
	stdout, err := open.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := open.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	c.StopSSHD()
	if err := open.Wait(); err == nil {
		t.Error("the open connection survived StopSSHD")
	}
	if _, err := login(); err == nil {
		t.Error("login works after StopSSHD")
	}
	if err := c.StartSSHD(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := login(); err != nil {
		t.Error(err)
	}
}

func controllerRestarts(t *testing.T, ctx context.Context, c *Cluster) {
	id, err := c.Submit(ctx, Bob, "sleep 600", "--gres=gpu:8", "-N2")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WaitJob(ctx, id, "RUNNING"); err != nil {
		t.Fatal(err)
	}
	c.StopController()
	if c.accepts(portController) {
		t.Error("slurmctld listens after StopController")
	}
	if err := c.StartController(ctx); err != nil {
		t.Fatal(err)
	}
	if state, err := c.JobState(ctx, id); state != "RUNNING" {
		t.Errorf("job is %s after the restart, %v", state, err)
	}
	if log, err := c.ControllerLog(); err != nil || !strings.Contains(log, "Recovered state of") {
		t.Errorf("log of slurmctld: %v: %s", err, lastLines(log, 5))
	}
}

func nodeDies(t *testing.T, ctx context.Context, c *Cluster) {
	node := c.Nodes()[7]
	id, err := c.Submit(ctx, Bob, "sleep 600", "-w", node)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WaitJob(ctx, id, "RUNNING"); err != nil {
		t.Fatal(err)
	}
	c.StopNode(node)
	if left := withEnv(c.mark(), nodeMark(node)); len(left) > 0 {
		t.Errorf("processes of the node are left: %v", left)
	}
	if err := c.StartNode(ctx, node); err != nil {
		t.Error(err)
	}
}

// loopbackOnly looks for a socket of the cluster that listens elsewhere.
func loopbackOnly(t *testing.T, ctx context.Context, c *Cluster) {
	out := as(t, ctx, c, "root", "cat", "/proc/net/tcp", "/proc/net/tcp6")
	var found int
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != "0A" { // LISTEN
			continue
		}
		addr, port := parseListen(t, f[1])
		if port < c.port(0) || port >= c.port(blockPorts) {
			continue
		}
		found++
		if !strings.HasSuffix(addr, "7F") || len(addr) != 8 {
			t.Errorf("port %d listens on %s", port, addr)
		}
	}
	if found < portSSH+1+8 {
		t.Errorf("%d listening ports, want at least %d", found, portSSH+1+8)
	}
}

func opensFromElsewhere(t *testing.T, ctx context.Context, c *Cluster) {
	o, err := Open(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if o.RESTURL() != c.RESTURL() || o.Conf() != c.Conf() || !slices.Equal(o.Nodes(), c.Nodes()) {
		t.Errorf("opened another cluster: %+v", o.opts)
	}
	as(t, ctx, o, Alice, "sinfo")
}

// parseListen splits an address of /proc/net/tcp: hexadecimal, the IPv4 address in
// host order, so that 127.x.x.x ends in 7F.
func parseListen(t *testing.T, s string) (addr string, port int) {
	t.Helper()
	addr, hexPort, _ := strings.Cut(s, ":")
	p, err := strconv.ParseInt(hexPort, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return addr, int(p)
}
