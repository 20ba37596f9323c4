package agents

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// responder is the variable that makes this program simulated agents: "stdio", or
// "sockets DIR COUNT" for one unix socket a node.
const responder = "GPUCTL_TEST_RESPONDER"

func TestMain(m *testing.M) {
	switch words := strings.Fields(os.Getenv(responder)); {
	case len(words) == 1:
		respond("n1", stdio{})
	case len(words) == 3:
		serveSockets(words[1], words[2])
	default:
		os.Exit(m.Run())
	}
}

type stdio struct{}

func (stdio) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }

// serveSockets runs until its standard input ends.
func serveSockets(dir, count string) {
	n, err := strconv.Atoi(count)
	if err != nil {
		panic(err)
	}
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		l, err := net.Listen("unix", filepath.Join(dir, name+".sock"))
		if err != nil {
			panic(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go respond(name, c)
			}
		}()
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}

// respond speaks as an agent with 8 GPUs, of which every reading changes each second.
func respond(name string, conn io.ReadWriter) {
	var writing sync.Mutex
	send := func(f wire.Frame) error {
		writing.Lock()
		defer writing.Unlock()
		return wire.Write(conn, f)
	}
	go func() {
		frames := wire.NewReader(conn, 0)
		for {
			f, err := frames.Next()
			if err != nil {
				return
			}
			if f.Request != nil {
				send(wire.Frame{Progress: &wire.Progress{ID: f.Request.ID, Text: "half"}})
				send(wire.Frame{Reply: &wire.Reply{ID: f.Request.ID, Result: []byte(`"done"`)}})
			}
		}
	}()
	err := send(wire.Frame{Hello: &wire.Hello{Version: 1, Agent: "test", Host: name, Interval: 2 * time.Second, Ops: []wire.Op{wire.OpHealth}}})
	for seq := uint64(1); err == nil; seq++ {
		err = send(wire.Frame{Sample: sampleOf(name, seq)})
		time.Sleep(time.Second)
	}
}

func sampleOf(name string, seq uint64) *wire.Sample {
	s := &wire.Sample{Seq: seq, Full: seq == 1, At: time.Now(), Node: &fleet.AgentInfo{Host: name, Driver: "570.86.15", Expected: 8, Present: 8}}
	for i := range 8 {
		g := fleet.GPU{
			UUID: fmt.Sprintf("GPU-%s-%d", name, i), Index: i, Minor: i, Model: "NVIDIA H100 80GB HBM3", Serial: "1652823000001",
			PCI: fmt.Sprintf("00000000:%02X:00.0", i), VBIOS: "96.00.74.00.01", Health: fleet.GPUHealth{State: fleet.GPUAnswers},
			MIG: fleet.MIGState{Current: fleet.MIGDisabled, Pending: fleet.MIGDisabled, Slices: 8}, At: s.At,
		}
		for k, r := range []*fleet.Reading{&g.Temp, &g.TempLimit, &g.Power, &g.PowerCap, &g.Util, &g.MemUsed, &g.MemTotal, &g.SMClock} {
			*r = fleet.Read(float64(seq + uint64(k)))
		}
		for _, check := range []string{fleet.CheckECC, fleet.CheckRowRemap, fleet.CheckNVLink, fleet.CheckPCIe, fleet.CheckThrottle, fleet.CheckPersistence} {
			g.Checks = append(g.Checks, fleet.Check{Name: check, Result: fleet.CheckOK, Text: "as it should be"})
		}
		g.Owners = []fleet.Owner{{Job: fleet.JobKey{ID: "4711"}, User: "alice", Source: "agent", Proven: true}}
		g.Processes = []fleet.GPUProcess{{PID: 4242 + i, Name: "python3", Bytes: fleet.Read(1 << 30), Instance: -1, Owner: g.Owners[0]}}
		s.GPUs = append(s.GPUs, g)
	}
	return s
}
