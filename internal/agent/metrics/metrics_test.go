package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/agenttest"
	"github.com/gpuctl/gpuctl/internal/agent/metrics"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

func scrape(t *testing.T, s *agent.State) string {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	metrics.Handler(func() *agent.State { return s }).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	sample, err := agenttest.NewDriver(3).Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &agent.State{At: time.Unix(1000, 0), GPUs: sample.GPUs, Node: fleet.AgentInfo{Version: "test", Driver: "570.86.15", Expected: -1, Present: 3}}
	g := s.GPUs
	g[0].Owners = []fleet.Owner{{Job: fleet.JobKey{ID: "4711"}, User: "alice"}, {}}
	g[0].Faults = []fleet.Fault{{Kind: fleet.FaultXID, Code: 13, Count: 2, Last: time.Unix(2, 0)}, {Kind: fleet.FaultXID, Code: 79, Count: 1, Cleared: time.Unix(3, 0)}}
	g[1].Util = fleet.Absent(fleet.NotApplicable, "MIG")
	g[1].MIG.Instances = []fleet.MIGInstance{{ID: 5, Profile: "3g.40gb", UUID: "MIG-1"}}
	g[1].Checks = append(g[1].Checks, g[1].Checks[0]) // twice the same: nothing is lost
	g[2].Health.State = fleet.GPULost
	text := scrape(t, s)
	for _, want := range []string{
		`DCGM_FI_DEV_GPU_TEMP{Hostname="",UUID="` + agenttest.UUID(0) + `",gpu="0",modelName="NVIDIA H100 80GB HBM3",pci_bus_id="` + agenttest.PCI(0) + `"} 40`,
		`DCGM_FI_DEV_XID_ERRORS{Hostname="",UUID="` + agenttest.UUID(0) + `"`, `code="13",gpu="0",kind="xid"`, `job="4711"`, `job="",`,
		`GPU_I_ID="5",GPU_I_PROFILE="3g.40gb"`, `gpu="2",modelName="NVIDIA H100 80GB HBM3",pci_bus_id="` + agenttest.PCI(2) + `",state="lost"} 1`,
		"gpuctl_node_gpus_present 3", "gpuctl_agent_sampled_timestamp_seconds 1000",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s", want)
		}
	}
	for _, unwanted := range []string{
		"gpuctl_node_gpus_expected ", `code="79"`,
		`DCGM_FI_DEV_GPU_UTIL{Hostname="",UUID="` + agenttest.UUID(1), // C82: n/a is not 0
		`DCGM_FI_DEV_GPU_TEMP{Hostname="",UUID="` + agenttest.UUID(2), // C87: nor is what was read before
	} {
		if strings.Contains(text, unwanted) {
			t.Errorf("has %s", unwanted)
		}
	}
}

func TestNothingYet(t *testing.T) {
	if text := scrape(t, nil); strings.TrimSpace(text) != "" {
		t.Error(text)
	}
}
