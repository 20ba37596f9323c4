package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/triage"
	"github.com/gpuctl/gpuctl/test/fakenvml"
)

// joinedSample runs an agent once on a fake library and joins what it says with a node
// of a cluster.
func joinedSample(t *testing.T, lib *fakenvml.State) *fleet.Snapshot {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(t.Context(), agentArgs(t, lib, "--once", "-o", "json"), &out, &errs); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	var f wire.Frame
	if err := json.Unmarshal(out.Bytes(), &f); err != nil || f.Sample == nil || f.Sample.Node == nil {
		t.Fatalf("%v %s", err, out.String())
	}
	store := fleet.NewStore(fleet.StoreOptions{Evaluate: triage.Evaluate})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = store.Run(ctx) }()
	store.Update(fleet.Update{Source: "ai", At: time.Now(), Full: true, Views: []fleet.View{{
		Cluster: "ai", Kind: fleet.Slurm, Node: "gn001", Base: fleet.BaseIdle, GPUs: fleet.GPUCount{Total: 8, Model: "h100"},
		GRES: []fleet.GRES{{Name: "gpu", Type: "h100", Count: 8}},
	}}})
	store.Update(fleet.Update{Source: "agents", At: time.Now(), Full: true, NoJobs: true, NoViews: true, Hosts: []fleet.HostReport{{
		Host: "gn001", Agent: *f.Sample.Node, GPUs: f.Sample.GPUs,
	}}})
	changes, unsubscribe := store.Subscribe()
	defer unsubscribe()
	for {
		select {
		case s := <-changes:
			if n := s.Node("gn001"); n != nil && n.Agent != nil {
				return s
			}
		case <-time.After(time.Minute):
			t.Fatal("no snapshot with the agent's word")
		}
	}
}

// What the real bindings read of a stand-in of the driver becomes findings and rows:
// one device lost, one hanging, the others live.
func TestWhatAnAgentReadsIsFound(t *testing.T) {
	lib := fakenvml.Build(t).State(t, 8, fakenvml.H100)
	lib.Fault("* 3 lost", "nvmlDeviceGetTemperature 5 hang")
	lib.Set(1, "temperature", "93")
	lib.Set(2, "remapped_pending", "1")
	lib.Set(4, "recovery", "1")
	lib.Set(6, "persistence", "0")
	s := joinedSample(t, lib)
	var found []string
	for _, f := range s.Findings {
		if f.Severity != fleet.Info {
			found = append(found, f.Rule+" "+f.Title)
		}
	}
	text := strings.Join(found, "\n")
	for _, want := range []string{
		"gpu-lost gn001 GPU 3 ", "gpu-hanging gn001 GPU 5 does not answer", "Temperature", "gpu-hot gn001 GPU 1 is at 93 C",
		"gpu-row-remap-pending gn001 GPU 2 ", "gpu-recovery-due gn001 GPU 4 asks for recovery: reset",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if len(found) != 5 {
		t.Errorf("more is found than is wrong:\n%s", text)
	}
	if i := s.Findings[len(s.Findings)-1]; i.Rule != triage.RulePersistence {
		t.Errorf("the last one is %+v", i)
	}
	table := listed(t, s, "gpus", "table", "")
	if strings.Count(table, "  ok  ") != 6 || !strings.Contains(table, "lost") || !strings.Contains(table, "hanging") {
		t.Error(table)
	}
}
