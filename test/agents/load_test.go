package agents

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/client"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/remote"
	"github.com/gpuctl/gpuctl/internal/sources"
	"github.com/gpuctl/gpuctl/internal/sources/node"
	"github.com/gpuctl/gpuctl/internal/triage"
)

// console is what the console runs below its screen.
type console struct {
	store  *fleet.Store
	source *node.Source
	work   sync.WaitGroup
	cancel context.CancelFunc
}

// relay lets the supervisor be made before the store that shows its sources.
type relay struct{ sources.Store }

func startConsole(tb testing.TB, way client.Way, hosts []string) *console {
	tb.Helper()
	c := &console{source: node.New(node.Options{Name: "agents", Way: way, Hosts: func() []string { return hosts }})}
	r := &relay{}
	keeper := sources.NewSupervisor(r, sources.Options{}, c.source)
	c.store = fleet.NewStore(fleet.StoreOptions{Sources: keeper.States(), Evaluate: triage.Evaluate})
	r.Store = c.store
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	c.work.Go(func() { _ = c.store.Run(ctx) })
	c.work.Go(func() { _ = keeper.Run(ctx) })
	tb.Cleanup(c.stop)
	return c
}

func (c *console) stop() { c.cancel(); c.work.Wait() }

func (c *console) agents() fleet.SourceState { return c.store.Latest().Sources[0] }

// way is SSH to the nodes themselves, all of them through the login node.
func sshWay(pool *remote.Pool, host remote.Host, command ...string) *client.SSHWay {
	return &client.SSHWay{Pool: pool, Host: host.Through("login1"), Command: command}
}

func TestAgentsOverSSHStdio(t *testing.T) {
	host := startSSHD(t)
	pool := remote.NewPool(remote.Options{})
	t.Cleanup(func() { pool.Close() })
	c := startConsole(t, sshWay(pool, host, "env", responder+"=stdio", os.Args[0]), []string{"n1", "n2", "n3"})
	await(t, "all agents", func() bool { return c.agents().Reached == 3 })
	n := c.store.Latest().Node("n2")
	if n.Agent.Driver != "570.86.15" || len(n.GPUs) != 8 || n.GPUs[7].Node != "n2" || n.Agent.Via != "ssh n2" {
		t.Errorf("%+v", n)
	}
	var told []string
	got, err := c.source.Client("n2").Request(t.Context(), wire.Request{Op: wire.OpHealth}, func(s string) { told = append(told, s) })
	if err != nil || string(got) != `"done"` || !slices.Equal(told, []string{"half"}) {
		t.Errorf("%s, %v, %q", got, err, told)
	}
}

func TestNodeWithoutAnything(t *testing.T) {
	host := startSSHD(t)
	pool := remote.NewPool(remote.Options{})
	t.Cleanup(func() { pool.Close() })
	c := startConsole(t, sshWay(pool, host, "no-such-gpuctl", "agent", "--stdio"), []string{"n1"})
	await(t, "the reason", func() bool { return c.agents().Status == fleet.SourceDown })
	n := c.store.Latest().Node("n1")
	if n == nil || !strings.Contains(n.Agent.Gone, "no gpuctl agent there: no-such-gpuctl cannot be run") || !strings.Contains(n.Agent.Gone, "nvidia-smi is not there either") {
		t.Errorf("%+v", n)
	}
	if src := c.agents(); !strings.Contains(src.LastError, "no node agent answers") || src.Reached != 0 || src.Wanted != 1 {
		t.Errorf("%+v", src)
	}
}

// A quitting console does not wait for agents, nor leave their processes.
func TestQuitEndsAgents(t *testing.T) {
	host := startSSHD(t)
	pool := remote.NewPool(remote.Options{})
	mark := filepath.Join(t.TempDir(), "gone")
	script := `trap 'echo x >"$1"' EXIT; env ` + responder + `=stdio "$2" & wait`
	c := startConsole(t, sshWay(pool, host, "sh", "-c", script, "sh", mark, os.Args[0]), []string{"n1"})
	await(t, "the agent", func() bool { return c.agents().Reached == 1 })
	began := time.Now()
	c.stop()
	pool.Close()
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("quitting took %s", d)
	}
}

// simulate starts a process that is n agents, each on its own socket below dir.
func simulate(tb testing.TB, dir string, n int) {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=sockets %s %d", responder, dir, n))
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		tb.Fatal(err1, err2)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { in.Close(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		tb.Fatalf("%q, %v", line, err)
	}
}

// Benchmark500Agents is a console with 500 agents of 8 GPUs, every reading of which
// changes each second, over one SSH connection. An iteration is five seconds of it.
func Benchmark500Agents(b *testing.B) {
	const count, window = 500, 5 * time.Second
	host := startSSHD(b)
	dir, err := os.MkdirTemp("", "ga") // socket paths must be short
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	simulate(b, dir, count)
	var connections atomic.Int32
	pool := remote.NewPool(remote.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		connections.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	b.Cleanup(func() { pool.Close() })
	var hosts []string
	for i := range count {
		hosts = append(hosts, fmt.Sprintf("n%d", i))
	}
	began := time.Now()
	c := startConsole(b, &client.SocketWay{Path: dir + "/{node}.sock", Name: "ssh login1", DialUnix: pool.Conn(host).DialUnix}, hosts)
	await(b, "all agents", func() bool { return c.agents().Reached == count })
	start := time.Since(began)
	for b.Loop() {
		seq, cpu := c.store.Latest().Seq, cpuTime(b)
		time.Sleep(window)
		b.ReportMetric(100*(cpuTime(b)-cpu).Seconds()/window.Seconds(), "%-of-a-core")
		b.ReportMetric(float64(c.store.Latest().Seq-seq)/window.Seconds(), "snapshots/s")
	}
	await(b, "all agents, at the end", func() bool {
		st := c.agents()
		return st.Reached == count && st.Usable()
	})
	if n := connections.Load(); n != 1 {
		b.Errorf("%d connections", n)
	}
	for _, n := range c.store.Latest().Nodes {
		if n.Agent.Gone != "" || len(n.GPUs) != 8 || n.GPUs[0].Temp.Quality != fleet.Known {
			b.Errorf("%s: %+v, %d GPUs", n.Name, n.Agent, len(n.GPUs))
		}
	}
	b.ReportMetric(start.Seconds(), "s-until-all-live")
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB-heap")
	b.ReportMetric(float64(m.StackInuse)/(1<<20), "MiB-stacks")
	b.ReportMetric(float64(rss(b))/(1<<20), "MiB-RSS")
	b.ReportMetric(float64(connections.Load()), "connections")
}

// cpuTime is what this process has used.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rss is the resident memory of this process, in bytes.
func rss(tb testing.TB) int64 {
	tb.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Skip("no /proc here")
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		tb.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}
