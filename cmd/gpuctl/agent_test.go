package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/client"
	"github.com/gpuctl/gpuctl/internal/agent/nvml"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/test/fakenvml"
)

// TestMain is gpuctl itself when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == nvml.ChildArg || os.Args[1] == "agent") {
		main()
	}
	os.Exit(m.Run())
}

// agentArgs are those of an agent on a fake library.
func agentArgs(t *testing.T, lib *fakenvml.State, args ...string) []string {
	t.Helper()
	for _, kv := range lib.Env() {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	return append([]string{"agent", "--kernel-log", lib.KernelLog(), "--state-dir", t.TempDir(), "--service", ""}, args...)
}

// started starts an agent as a process of its own, and ends it.
func started(t *testing.T, args []string) (stdin io.WriteCloser, stdout io.ReadCloser) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if stdout, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Error("the agent:", err)
		}
	})
	return stdin, stdout
}

func TestAgentOnce(t *testing.T) {
	lib := fakenvml.Build(t).State(t, 8, fakenvml.H100)
	lib.Fault("* 3 lost", "nvmlDeviceGetTemperature 5 hang")
	var out, errs bytes.Buffer
	if code := run(t.Context(), agentArgs(t, lib, "--once", "-o", "json"), &out, &errs); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	var f wire.Frame
	if err := json.Unmarshal(out.Bytes(), &f); err != nil || f.Sample == nil || len(f.Sample.GPUs) != 8 {
		t.Fatalf("%v %s", err, out.String())
	}
	for i, g := range f.Sample.GPUs {
		want := fleet.GPUAnswers
		switch i {
		case 3:
			want = fleet.GPULost
		case 5:
			want = fleet.GPUHanging
		}
		if g.Health.State != want {
			t.Errorf("%d: %+v", i, g.Health)
		}
	}
	out.Reset()
	if code := run(t.Context(), agentArgs(t, lib, "--once"), &out, &errs); code != exitDone || strings.Count(out.String(), "H100") < 6 {
		t.Errorf("exit %d: %s", code, out.String())
	}
}

func TestAgentWithoutDriver(t *testing.T) {
	old := fakenvml.BuildOld(t).State(t, 2)
	for name, tc := range map[string]struct{ library, want string }{
		"none": {"/no/such/lib.so", "no GPU driver"},
		"old":  {old.Library().Path(), "too old"},
	} {
		for _, mode := range []string{"--once", "--stdio"} {
			var out, errs bytes.Buffer
			args := agentArgs(t, old, mode, "--library", tc.library, "--host-root", t.TempDir())
			if code := run(t.Context(), args, &out, &errs); code != exitRefused || !strings.Contains(errs.String(), tc.want) || out.Len() > 0 {
				t.Errorf("%s, %s: exit %d, %q, %q", name, mode, code, errs.String(), out.String())
			}
		}
	}
}

func TestAgentUsage(t *testing.T) {
	for args, want := range map[string]string{
		"agent":                          "--once",
		"agent --once --stdio":           "--once",
		"agent --listen 127.0.0.1:0":     "--client-ca",
		"agent --once --interval 1ms":    "100ms",
		"agent --once -o yaml":           "output format",
		"agent --listen 127.0.0.1 --key": "flag",
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &out, &errs); code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %s", args, code, errs.String())
		}
	}
}

// pipes is a process's ends as one stream.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// TestAgentStdio sees an XID with a process on the client's side in less than a second.
func TestAgentStdio(t *testing.T) {
	lib := fakenvml.Build(t).State(t, 8, fakenvml.H100)
	in, out := started(t, agentArgs(t, lib, "--stdio"))
	changed := make(chan struct{}, 1)
	c := client.New("gn001", func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, pipes{out, in}) }()
	until := func(what string, ok func(*client.State) bool) {
		t.Helper()
		for c.State() == nil || !ok(c.State()) {
			select {
			case <-changed:
			case err := <-ended:
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	until("first sample", func(s *client.State) bool { return len(s.GPUs) == 8 })
	time.Sleep(1300 * time.Millisecond) // not just before a round
	began := time.Now()
	lib.XID(2, 79, "pid=4242, name=python3, GPU has fallen off the bus.")
	until("XID", func(s *client.State) bool { return len(s.GPUs[2].Faults) > 0 })
	t.Logf("the driver's XID was on the client after %s", time.Since(began))
	until("its process", func(s *client.State) bool { return s.GPUs[2].Faults[0].PID == 4242 })
	t.Logf("what the log says of it, after %s", time.Since(began))
	if f := c.State().GPUs[2].Faults; len(f) != 1 || f[0].Code != 79 || f[0].Count != 1 {
		t.Errorf("%+v", f)
	}
	args, _ := json.Marshal(wire.ClearArgs{UUID: lib.UUID(2), Kind: fleet.FaultXID, Code: 79})
	if _, err := c.Request(ctx, wire.Request{Op: wire.OpClearFault, Who: "bob", Reason: "board was changed", Args: args}, nil); err != nil {
		t.Error(err)
	}
	until("clearing", func(s *client.State) bool { return !s.GPUs[2].Faults[0].IsOpen() })
	stop()
	<-ended
}

// TestAgentService serves a socket and metrics, and answers for --stdio.
func TestAgentService(t *testing.T) {
	lib := fakenvml.Build(t).State(t, 2, fakenvml.H100)
	socket := filepath.Join(t.TempDir(), "agent.sock")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	args := agentArgs(t, lib, "--socket", socket, "--metrics", free.Addr().String())
	started(t, args)
	deadline := time.Now().Add(30 * time.Second)
	for _, err := os.Stat(socket); err != nil; _, err = os.Stat(socket) {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	_, out := started(t, []string{"agent", "--stdio", "--service", socket, "--library", "/no/such/lib.so"})
	frames := wire.NewReader(out, 0)
	hello, err1 := frames.Next()
	sample, err2 := frames.Next()
	if err1 != nil || err2 != nil || hello.Hello == nil || len(sample.Sample.GPUs) != 2 {
		t.Errorf("%v %v %+v %+v", err1, err2, hello, sample)
	}
	resp, err := http.Get("http://" + free.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), "DCGM_FI_DEV_GPU_TEMP{") {
		t.Errorf("%v %s", err, text)
	}
}
