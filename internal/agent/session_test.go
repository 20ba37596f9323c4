package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/agenttest"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// rig is an agent with one client, in a bubble of fake time.
type rig struct {
	t       *testing.T
	node    *agenttest.Node
	sampler *agent.Sampler
	desk    *agent.Desk
	client  net.Conn
	frames  *wire.Reader
	ended   chan error // of the session
}

var (
	operator = agent.Peer{Name: "uid 0", Write: true}
	onlooker = agent.Peer{Name: "CN=bob"}
)

func withClient(t *testing.T, n *agenttest.Node, engine agent.MIGEngine, peer agent.Peer, use func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, node: n, sampler: agent.New(n.Options()), ended: make(chan error, 1)}
		r.desk = agent.NewDesk(r.sampler, engine)
		ctx, stop := context.WithCancel(t.Context())
		sampled := make(chan error)
		go func() { sampled <- r.sampler.Run(ctx) }()
		settle(1500 * time.Millisecond)
		mine, theirs := net.Pipe()
		r.client, r.frames = mine, wire.NewReader(mine, 0)
		go func() { r.ended <- agent.NewServer(r.sampler, r.desk).Session(ctx, peer, theirs) }()
		use(r)
		mine.Close()
		settle(time.Second)
		stop()
		<-sampled
		r.desk.Wait()
		settle(10 * time.Second)
	})
}

func (r *rig) next() wire.Frame {
	r.t.Helper()
	f, err := r.frames.Next()
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// greeted reads the greeting and the first sample.
func (r *rig) greeted() (*wire.Hello, *wire.Sample) {
	r.t.Helper()
	hello, full := r.next(), r.next()
	if hello.Hello == nil || full.Sample == nil || !full.Sample.Full {
		r.t.Fatalf("%+v, %+v", hello, full)
	}
	return hello.Hello, full.Sample
}

func (r *rig) send(req wire.Request) {
	r.t.Helper()
	if err := wire.Write(r.client, wire.Frame{Request: &req}); err != nil {
		r.t.Fatal(err)
	}
}

// ask sends a request and returns its reply; samples that come meanwhile are dropped.
func (r *rig) ask(id string, op wire.Op, args any) wire.Reply {
	r.t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		r.t.Fatal(err)
	}
	r.send(wire.Request{Version: wire.Version, ID: id, Op: op, Who: "bob", Reason: "on call", Args: data})
	for {
		if f := r.next(); f.Reply != nil && f.Reply.ID == id {
			return *f.Reply
		}
	}
}

func TestSessionSendsChangesOnly(t *testing.T) {
	n := agenttest.NewNode(t, 8)
	withClient(t, n, nil, operator, func(r *rig) {
		hello, full := r.greeted()
		if hello.Version != wire.Version || hello.Host != "gn001" || hello.Interval != 2*time.Second || slices.Contains(hello.Ops, wire.OpMIGApply) {
			t.Errorf("%+v", hello)
		}
		if len(full.GPUs) != 8 || full.Node == nil || full.Seq != 1 {
			t.Errorf("%+v", full)
		}
		n.Driver.Change(3, func(g *fleet.GPU) { g.Temp = fleet.Read(91) })
		var changed []string
		for seq := uint64(2); seq < 5; seq++ {
			s := r.next().Sample
			if s == nil || s.Full || s.Node != nil || s.Seq != seq {
				t.Fatalf("%+v", s)
			}
			for _, g := range s.GPUs {
				changed = append(changed, g.UUID)
			}
		}
		if !slices.Equal(changed, []string{agenttest.UUID(3)}) {
			t.Errorf("%v", changed)
		}
	})
}

func TestSlowClientGetsTheLatest(t *testing.T) {
	n := agenttest.NewNode(t, 1)
	withClient(t, n, nil, operator, func(r *rig) {
		_, full := r.greeted()
		settle(100 * time.Millisecond)
		for i := range 50 {
			n.Driver.Change(0, func(g *fleet.GPU) { g.Temp = fleet.Read(float64(50 + i)) })
			settle(time.Second)
		}
		first, second := r.next().Sample, r.next().Sample // one was being written all the time
		if first.Seq != full.Seq+1 || second.Seq != full.Seq+2 {
			t.Errorf("%d %d after %d", first.Seq, second.Seq, full.Seq)
		}
		if age := time.Since(second.At); age > 2*time.Second || len(second.GPUs) != 1 || second.GPUs[0].Temp.Value < 98 {
			t.Errorf("%s old, %+v", age, second.GPUs)
		}
	})
}

func TestFullSampleOnRequest(t *testing.T) {
	n := agenttest.NewNode(t, 2)
	withClient(t, n, nil, onlooker, func(r *rig) {
		r.greeted()
		r.send(wire.Request{Version: wire.Version, ID: "sync", Op: wire.OpSample})
		for full, replied := false, false; !full || !replied; {
			f := r.next()
			full = full || f.Sample != nil && f.Sample.Full && len(f.Sample.GPUs) == 2
			replied = replied || f.Reply != nil && f.Reply.ID == "sync" && f.Reply.Error == ""
		}
	})
}

func TestGarbageCutsOff(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want error
	}{
		"text":           {"DELETE everything\n", wire.ErrGarbage},
		"agent's frame":  {`{"reply":{"id":"1"}}` + "\n", wire.ErrGarbage},
		"two parts":      {`{"request":{"id":"1","op":"gpu-reset"},"reply":{"id":"1"}}` + "\n", wire.ErrGarbage},
		"endless":        {strings.Repeat("x", 100<<10), wire.ErrTooLong},
		"endless blanks": {strings.Repeat(" ", 100<<10), wire.ErrTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			n := agenttest.NewNode(t, 1)
			withClient(t, n, nil, operator, func(r *rig) {
				go io.Copy(io.Discard, r.client)
				go r.client.Write([]byte(tc.in))
				if err := <-r.ended; !errors.Is(err, tc.want) {
					t.Errorf("%v, want %v", err, tc.want)
				}
			})
			if c := n.Driver.Calls(); len(c) > 0 {
				t.Errorf("%v", c)
			}
		})
	}
}

func auditOf(t *testing.T, n *agenttest.Node) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(n.StateDir, "audit.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func TestResetIsDoneOnce(t *testing.T) {
	n := agenttest.NewNode(t, 2)
	withClient(t, n, nil, operator, func(r *rig) {
		r.greeted()
		n.Log(agenttest.XID(1, 95, "pid='<unknown>', name=<unknown>, Uncontained"))
		settle(time.Second)
		args := wire.GPUArgs{UUID: agenttest.UUID(1)}
		for range 2 {
			if reply := r.ask("r1", wire.OpGPUReset, args); reply.Error != "" {
				t.Fatalf("%+v", reply)
			}
		}
		if got := n.Driver.Calls(); !slices.Equal(got, []string{"release", "reset " + agenttest.UUID(1)}) {
			t.Errorf("%v", got)
		}
		if f := r.sampler.Latest().GPUs[1].Faults; len(openFaults(f)) > 0 || !strings.Contains(f[0].By, "reset") {
			t.Errorf("%+v", f)
		}
		reply := r.ask("r1", wire.OpGPUReset, wire.GPUArgs{UUID: agenttest.UUID(0)})
		if reply.Code != wire.CodeMalformed {
			t.Errorf("the id of another request: %+v", reply)
		}
	})
	audit := auditOf(t, n)
	if strings.Count(audit, `"phase":"begun"`) != 1 || strings.Count(audit, `"phase":"ended"`) != 1 || !strings.Contains(audit, `"who":"bob","reason":"on call"`) {
		t.Errorf("%s", audit)
	}
	withClient(t, n, nil, operator, func(r *rig) { // another agent of this host knows it too
		r.greeted()
		if reply := r.ask("r1", wire.OpGPUReset, wire.GPUArgs{UUID: agenttest.UUID(1)}); reply.Error != "" {
			t.Errorf("%+v", reply)
		}
		if got := n.Driver.Calls(); len(got) != 2 {
			t.Errorf("%v", got)
		}
	})
}

func TestC90_ResetIsRefusedWithTheHolders(t *testing.T) {
	n := agenttest.NewNode(t, 2)
	n.Process(77, "python3", step)
	n.Open(77, 1)
	n.Process(88, "nvidia-persiste", "/system.slice/nvidia-persistenced.service")
	n.Open(88, 1)
	n.Driver.Hold(agenttest.UUID(0), true)
	n.Write("sys/module/nvidia_drm/parameters/modeset", "Y\n")
	withClient(t, n, nil, operator, func(r *rig) {
		r.greeted()
		reply := r.ask("r1", wire.OpGPUReset, wire.GPUArgs{UUID: agenttest.UUID(1)})
		for _, want := range []string{"python3 (pid 77", "of job 4711", "nvidia-persiste (pid 88", "systemctl stop"} {
			if reply.Code != wire.CodeRefused || !strings.Contains(reply.Error, want) {
				t.Errorf("%+v lacks %q", reply, want)
			}
		}
		reply = r.ask("r2", wire.OpGPUReset, wire.GPUArgs{UUID: agenttest.UUID(0)}) // nobody that we see
		if reply.Code != wire.CodeRefused || !strings.Contains(reply.Error, "nvidia_drm") {
			t.Errorf("%+v", reply)
		}
		if got := n.Driver.Calls(); slices.Contains(got, "reset "+agenttest.UUID(1)) {
			t.Errorf("%v", got)
		}
		settle(3 * time.Second)
		if st := r.sampler.Latest(); st.GPUs[1].Health.State != fleet.GPUAnswers || len(st.Node.Problems) > 0 {
			t.Errorf("%+v", st.Node.Problems) // it reads again
		}
	})
}

func TestOnlookerChangesNothing(t *testing.T) {
	n := agenttest.NewNode(t, 1)
	withClient(t, n, nil, onlooker, func(r *rig) {
		if hello, _ := r.greeted(); slices.Contains(hello.Ops, wire.OpGPUReset) {
			t.Errorf("%v", hello.Ops)
		}
		for _, op := range []wire.Op{wire.OpGPUReset, wire.OpClearFault, wire.OpMIGApply} {
			if reply := r.ask("x"+string(op), op, wire.GPUArgs{UUID: agenttest.UUID(0)}); reply.Code != wire.CodeRefused {
				t.Errorf("%s: %+v", op, reply)
			}
		}
		reply := r.ask("h", wire.OpHealth, wire.GPUArgs{UUID: agenttest.UUID(0)})
		var checks []fleet.Check
		if err := json.Unmarshal(reply.Result, &checks); err != nil || len(checks) != 4 || checks[0].Result != fleet.CheckOK {
			t.Errorf("%+v %v", reply, err)
		}
	})
	if c := n.Driver.Calls(); len(c) > 0 {
		t.Errorf("%v", c)
	}
	if strings.Count(auditOf(t, n), `"phase":"refused"`) != 3 {
		t.Error(auditOf(t, n))
	}
}

func TestSenselessRequests(t *testing.T) {
	n := agenttest.NewNode(t, 1)
	withClient(t, n, nil, operator, func(r *rig) {
		r.greeted()
		for name, req := range map[string]wire.Request{
			"newer version": {Version: wire.Version + 1, ID: "1", Op: wire.OpGPUReset},
			"unknown":       {ID: "2", Op: "format-disk"},
			"no id":         {Op: wire.OpGPUReset},
			"escape code":   {ID: "3", Op: wire.OpGPUReset, Who: "\x1b[2J"},
			"long reason":   {ID: "4", Op: wire.OpGPUReset, Reason: strings.Repeat("x", 3000)},
			"wrong args":    {ID: "5", Op: wire.OpGPUReset, Args: json.RawMessage(`[1]`)},
			"no device":     {ID: "6", Op: wire.OpGPUReset},
			"other device":  {ID: "7", Op: wire.OpGPUReset, Args: json.RawMessage(`{"uuid":"GPU-other"}`)},
			"path":          {ID: "8", Op: wire.OpClearFault, Args: json.RawMessage(`{"uuid":"../../etc"}`)},
		} {
			r.send(req)
			for {
				f := r.next()
				if f.Reply == nil {
					continue
				}
				if c := f.Reply.Code; c != wire.CodeMalformed && c != wire.CodeRefused {
					t.Errorf("%s: %+v", name, f.Reply)
				}
				break
			}
		}
	})
	if c, a := n.Driver.Calls(), auditOf(t, n); len(c) > 0 || a != "" {
		t.Errorf("%v %s", c, a)
	}
}

func TestClearFaultIsAudited(t *testing.T) {
	n := agenttest.NewNode(t, 1)
	withClient(t, n, nil, operator, func(r *rig) {
		r.greeted()
		n.Log(agenttest.XID(0, 92, "pid='<unknown>', name=<unknown>, text"), "nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 63")
		settle(time.Second)
		if reply := r.ask("c0", wire.OpClearFault, wire.ClearArgs{UUID: agenttest.UUID(0), Kind: fleet.FaultXID, Code: 79}); reply.Code != wire.CodeRefused {
			t.Errorf("%+v", reply)
		}
		if reply := r.ask("c1", wire.OpClearFault, wire.ClearArgs{UUID: agenttest.UUID(0), Kind: fleet.FaultXID, Code: 92}); reply.Error != "" {
			t.Errorf("%+v", reply)
		}
		if reply := r.ask("c2", wire.OpClearFault, wire.ClearArgs{UUID: "0000:c4:00.0", Kind: fleet.FaultSXID, Code: 20034}); reply.Error != "" {
			t.Errorf("%+v", reply)
		}
		settle(time.Second)
		st := r.sampler.Latest()
		if f := st.GPUs[0].Faults; len(f) != 1 || f[0].IsOpen() || f[0].By != "bob (uid 0): on call" || st.Node.Faults[0].IsOpen() {
			t.Errorf("%+v %+v", f, st.Node.Faults)
		}
	})
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		if got := codes(s.Latest().GPUs[0].Faults); len(got) > 0 {
			t.Errorf("back after a restart: %v", got)
		}
	})
}

func FuzzSession(f *testing.F) {
	f.Add([]byte(`{"request":{"version":1,"id":"1","op":"sample"}}` + "\n"))
	f.Add([]byte(`{"request":{"id":"1","op":"gpu-reset","args":{"uuid":"GPU-00000000-0000-0000-0000-000000000000"}}}` + "\n"))
	f.Add([]byte("\x00\xff{{{\n"))
	n := agenttest.NewNode(f, 1)
	s := agent.New(n.Options())
	v := agent.NewServer(s, agent.NewDesk(s, nil))
	f.Fuzz(func(t *testing.T, in []byte) {
		err := v.Session(t.Context(), onlooker, &oneWay{in: bytes.NewReader(in)})
		if calls := n.Driver.Calls(); len(calls) > 0 {
			t.Fatalf("%v %v", calls, err)
		}
	})
}

// oneWay is a client that never reads and is never in the way.
type oneWay struct{ in io.Reader }

func (o *oneWay) Read(p []byte) (int, error)  { return o.in.Read(p) }
func (o *oneWay) Write(p []byte) (int, error) { return len(p), nil }
func (o *oneWay) Close() error                { return nil }
