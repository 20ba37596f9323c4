package agent_test

import (
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/agenttest"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/mig/migtest"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

func TestBoardsAreAskedOnceAModel(t *testing.T) {
	n := agenttest.NewNode(t, 8)
	asked := 0
	n.Driver.Devices = func(string) mig.Device {
		asked++
		return migtest.New(migtest.H10080(), fleet.MIGDisabled)
	}
	running(t, n, func(t *testing.T, s *agent.Sampler) {
		settle(time.Minute)
		node := s.Latest().Node
		if len(node.Boards) != 1 || asked != 1 {
			t.Fatalf("%d boards, asked %d times", len(node.Boards), asked)
		}
		b := node.BoardOf(&s.Latest().GPUs[3])
		if b == nil || !b.Placed() {
			t.Fatalf("%+v", b)
		}
		for _, p := range b.Profiles {
			if p.Name == "3g.40gb" && (p.Compute != 3 || p.Memory != 4 || p.Max != 2 || len(p.Starts) != 2) {
				t.Errorf("%+v", p)
			}
		}
	})
}

func TestNoBoardWithoutMIG(t *testing.T) {
	running(t, agenttest.NewNode(t, 1), func(t *testing.T, s *agent.Sampler) {
		settle(time.Minute)
		if node := s.Latest().Node; len(node.Boards) > 0 || len(node.Problems) > 0 {
			t.Errorf("%+v", node)
		}
	})
}
