package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpuctl/gpuctl/internal/config"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/remote"
)

func TestWhichAgentsAreWanted(t *testing.T) {
	view := func(node, base string, gpus int, flags ...string) *fleet.Node {
		return &fleet.Node{Name: strings.ToLower(node), Views: []fleet.View{{Node: node, Base: base, Flags: flags, GPUs: fleet.GPUCount{Total: gpus}}}}
	}
	cut := view("gpu4", fleet.BaseIdle, 0)
	cut.Views[0].GRES = []fleet.GRES{{Name: "gpu", Type: "h100_1g.10gb", Count: 7}}
	snap := fleet.NewSnapshot(fleet.Snapshot{Nodes: []*fleet.Node{
		view("GPU1", fleet.BaseMixed, 8), view("cpu1", fleet.BaseIdle, 0), view("gpu2", fleet.BaseDown, 8, fleet.FlagNotResponding),
		view("gpu3", fleet.BaseIdle, 8, fleet.FlagPoweredDown), cut, view("gpu5", fleet.BaseFuture, 8),
	}})
	for _, c := range []struct {
		config, need []string
		want         []string
	}{
		{nil, nil, []string{"gpu1", "gpu2", "gpu4"}},
		{[]string{"cpu1", "gpu[1-3]"}, nil, []string{"gpu1", "cpu1", "gpu2"}},
		{nil, []string{"GPU1"}, []string{"gpu1"}},
		{[]string{"gpu4"}, []string{"gpu1"}, nil},
	} {
		wanted, err1 := fleet.MatchHosts(c.config)
		narrow, err2 := fleet.MatchHosts(c.need)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if got := agentHosts(snap, len(c.config) > 0, wanted, narrow); !slices.Equal(got, c.want) {
			t.Errorf("config %q, needed %q: %q, want %q", c.config, c.need, got, c.want)
		}
	}
}

func TestAgentWays(t *testing.T) {
	pool := remote.NewPool(remote.Options{})
	defer pool.Close()
	for want, c := range map[string]config.Agents{
		"ssh n1":                               {Via: "ssh"},
		"ssh through login1 n1":                {Via: "ssh", Jump: "login1"},
		"socket /run/n1.sock":                  {Via: "socket", Socket: "/run/{node}.sock"},
		"ssh gpuop@login1 /run/gpuctl/n1.sock": {Via: "socket", Socket: "/run/gpuctl/{node}.sock", Jump: "login1", User: "gpuop"},
		"https n1:9443":                        {Via: "https", Port: 9443},
	} {
		way, err := agentWay(&c, pool)
		if err != nil || way.Via("n1") != want {
			t.Errorf("%+v: %v, %v", c, way, err)
		}
	}
	for _, c := range []config.Agents{{Via: "kube"}, {Via: "https", CAFile: "/no/such/file"}} {
		if _, err := agentWay(&c, pool); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}
