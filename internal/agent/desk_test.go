package agent_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/agenttest"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/mig/migtest"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// migNode is a node with one board that can be repartitioned.
func migNode(t *testing.T, mode fleet.MIGMode) (*agenttest.Node, *migtest.Device, *mig.Engine) {
	t.Helper()
	n := agenttest.NewNode(t, 1)
	board := migtest.New(migtest.H10080(), mode)
	n.Driver.Devices = func(string) mig.Device { return board }
	return n, board, mig.NewEngine(mig.Options{Dir: filepath.Join(n.StateDir, "mig"), BootID: "boot-1"})
}

func TestMIGPlanAndApply(t *testing.T) {
	n, board, engine := migNode(t, fleet.MIGEnabled)
	withClient(t, n, engine, operator, func(r *rig) {
		if hello, _ := r.greeted(); !slices.Contains(hello.Ops, wire.OpMIGApply) {
			t.Errorf("%v", hello.Ops)
		}
		args := wire.MIGArgs{UUID: agenttest.UUID(0), Layout: "3g.40gb,2g.20gb"}
		reply := r.ask("p", wire.OpMIGPlan, args)
		var plan wire.MIGPlan
		if err := json.Unmarshal(reply.Result, &plan); err != nil || reply.Error != "" || len(plan.Create) != 2 {
			t.Fatalf("%+v %v", reply, err)
		}
		if len(board.Now().Instances) != 0 {
			t.Error("planning changed something")
		}
		for range 2 {
			if reply := r.ask("a", wire.OpMIGApply, args); reply.Error != "" {
				t.Fatalf("%+v", reply)
			}
		}
		if got := board.Now().Instances; len(got) != 2 {
			t.Errorf("%+v", got)
		}
		if reply := r.ask("b", wire.OpMIGApply, wire.MIGArgs{UUID: agenttest.UUID(0), Layout: "9g.1gb"}); reply.Code != wire.CodeRefused {
			t.Errorf("%+v", reply)
		}
	})
}

func TestMIGModeChangeLetsGoOfTheDriver(t *testing.T) {
	n, board, engine := migNode(t, fleet.MIGDisabled)
	n.Process(88, "nv-hostengine", "/system.slice/nvidia-dcgm.service")
	n.Open(88, 0)
	withClient(t, n, engine, operator, func(r *rig) {
		r.greeted()
		args := wire.MIGArgs{UUID: agenttest.UUID(0), Layout: "on"}
		reply := r.ask("a", wire.OpMIGApply, args)
		if reply.Code != wire.CodeRefused || !strings.Contains(reply.Error, "nv-hostengine (pid 88") || board.Now().Current != fleet.MIGDisabled {
			t.Errorf("%+v, %s", reply, board.Now().Current)
		}
		n.Exit(88)
		if reply := r.ask("b", wire.OpMIGApply, args); reply.Error != "" || board.Now().Current != fleet.MIGEnabled {
			t.Errorf("%+v, %s", reply, board.Now().Current)
		}
		if got := n.Driver.Calls(); !slices.Equal(got, []string{"release", "release"}) {
			t.Errorf("%v", got)
		}
	})
}

// slow is an engine whose changes take their time, and end as they are told.
type slow struct {
	agent.MIGEngine
	begun chan struct{}
	end   chan error
	left  []mig.Recovery
}

func (s *slow) Plan(_ context.Context, _ mig.Device, _ *fleet.GPU, a wire.MIGArgs) (wire.MIGPlan, error) {
	return wire.MIGPlan{UUID: a.UUID}, nil
}

func (s *slow) Apply(context.Context, mig.Device, wire.MIGPlan, func(string)) error {
	close(s.begun)
	return <-s.end
}

func (s *slow) Recover(context.Context, func(string) mig.Device) []mig.Recovery { return s.left }

func TestOneChangeAtATime(t *testing.T) {
	n, _, _ := migNode(t, fleet.MIGEnabled)
	engine := &slow{}
	withClient(t, n, engine, operator, func(r *rig) {
		engine.begun, engine.end = make(chan struct{}), make(chan error) // of this bubble of time
		r.greeted()
		args, _ := json.Marshal(wire.MIGArgs{UUID: agenttest.UUID(0), Layout: "off"})
		apply := wire.Request{ID: "a", Op: wire.OpMIGApply, Args: args}
		first := make(chan wire.Reply)
		ctx, leave := context.WithCancel(r.t.Context())
		go func() { first <- r.desk.Do(ctx, operator, &apply, nil) }()
		<-engine.begun
		if reply := r.ask("b", wire.OpGPUReset, wire.GPUArgs{UUID: agenttest.UUID(0)}); reply.Code != wire.CodeBusy {
			t.Errorf("%+v", reply)
		}
		other := agent.NewDesk(r.sampler, engine) // another agent of this machine
		reset := wire.Request{ID: "c", Op: wire.OpGPUReset, Args: args}
		if reply := other.Do(r.t.Context(), operator, &reset, nil); reply.Code != wire.CodeBusy {
			t.Errorf("%+v", reply)
		}
		leave() // the change goes on
		<-first
		again := make(chan wire.Reply)
		go func() { again <- r.desk.Do(r.t.Context(), operator, &apply, nil) }()
		settle(time.Second)
		engine.end <- &mig.Failure{Code: wire.CodeLeft, Text: "instance 5 is left"}
		if reply := <-again; reply.Code != wire.CodeLeft {
			t.Errorf("%+v", reply)
		}
		settle(time.Second)
		if f := openFaults(r.sampler.Latest().GPUs[0].Faults); len(f) != 1 || f[0].Kind != agent.FaultMIGLeft || f[0].Text != "instance 5 is left" {
			t.Errorf("%+v", f)
		}
	})
}

func TestKilledAgentIsTold(t *testing.T) {
	n, _, _ := migNode(t, fleet.MIGEnabled)
	engine := &slow{left: []mig.Recovery{{UUID: agenttest.UUID(0), Code: wire.CodeLeft, Text: "interrupted"}}}
	var kept string
	withClient(t, n, engine, operator, func(r *rig) {
		r.greeted()
		r.ask("c", wire.OpClearFault, wire.ClearArgs{UUID: agenttest.UUID(0), Kind: "none"})
		files, err := filepath.Glob(filepath.Join(n.StateDir, "requests", "*.request.json"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(data), `,"reply"`) // as it was when the request was begun
		if err := os.WriteFile(files[0], []byte(head+"}"), 0o600); err != nil {
			t.Fatal(err)
		}
		kept = files[0]
	})
	withClient(t, n, engine, operator, func(r *rig) {
		r.greeted()
		if reply := r.ask("c", wire.OpClearFault, wire.ClearArgs{UUID: agenttest.UUID(0), Kind: "none"}); reply.Code != wire.CodeLeft {
			t.Errorf("%+v, kept in %s", reply, kept)
		}
		if err := r.desk.Recover(r.t.Context()); err != nil {
			t.Fatal(err)
		}
		settle(time.Second)
		if f := openFaults(r.sampler.Latest().GPUs[0].Faults); len(f) != 1 || f[0].Text != "interrupted" {
			t.Errorf("%+v", f)
		}
	})
}

func TestWhatCannotBeWrittenDownIsNotDone(t *testing.T) {
	n := agenttest.NewNode(t, 1)
	n.StateDir = ""
	withClient(t, n, nil, operator, func(r *rig) {
		if hello, _ := r.greeted(); slices.Contains(hello.Ops, wire.OpGPUReset) {
			t.Errorf("%v", hello.Ops)
		}
		if reply := r.ask("a", wire.OpGPUReset, wire.GPUArgs{UUID: agenttest.UUID(0)}); reply.Code != wire.CodeRefused {
			t.Errorf("%+v", reply)
		}
	})
	if c := n.Driver.Calls(); len(c) > 0 {
		t.Errorf("%v", c)
	}
}
