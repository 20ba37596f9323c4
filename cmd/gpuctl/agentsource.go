package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gpuctl/gpuctl/internal/agent/client"
	"github.com/gpuctl/gpuctl/internal/config"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/remote"
	"github.com/gpuctl/gpuctl/internal/sources"
	nodesource "github.com/gpuctl/gpuctl/internal/sources/node"
)

// agentSource is what the source of node agents is called.
const agentSource = "agents"

// agentNeed is which node agents a command needs: all of them unless it says less.
type agentNeed struct {
	none  bool
	nodes []string // host lists; nil: all
}

// connectAgents makes the source of node agents; nil when none are configured or needed.
func (s *session) connectAgents() (sources.Source, error) {
	c, need := &s.config.Agents, s.app.agents
	if c.Via == "" || need.none {
		return nil, nil
	}
	way, err := agentWay(c, s.pool)
	if err != nil {
		return nil, fail(exitUsage, fmt.Errorf("agents: %w", err))
	}
	wanted, err := fleet.MatchHosts(c.Nodes)
	if err != nil {
		return nil, fail(exitUsage, fmt.Errorf("agents.nodes: %w", err))
	}
	narrow, err := fleet.MatchHosts(need.nodes)
	if err != nil {
		return nil, fail(exitUsage, err)
	}
	src := nodesource.New(nodesource.Options{
		Name: agentSource, Way: way, Concurrency: c.Concurrency,
		Hosts: func() []string { return agentHosts(s.store.Latest(), len(c.Nodes) > 0, wanted, narrow) },
	})
	s.agents = src.Client
	return src, nil
}

// agentHosts lists the nodes whose agents are wanted: those that the config names, or
// all with GPUs, and of these the ones that the command is about. A node that is
// powered down is left in peace.
func agentHosts(snap *fleet.Snapshot, named bool, wanted, narrow func(string) bool) []string {
	var hosts []string
	for _, n := range snap.Nodes {
		if (named || hasGPUs(n)) && wanted(n.Name) && isUp(n) && (narrow(n.Name) || narrowView(n, narrow)) {
			hosts = append(hosts, n.Name)
		}
	}
	return hosts
}

// narrowView reports that a scheduler's own name of the node is meant.
func narrowView(n *fleet.Node, means func(string) bool) bool {
	for i := range n.Views {
		if means(n.Views[i].Node) {
			return true
		}
	}
	return false
}

func hasGPUs(n *fleet.Node) bool {
	for i := range n.Views {
		if n.Views[i].GPUs.Total > 0 {
			return true
		}
		for _, g := range n.Views[i].GRES {
			if g.Name == "gpu" {
				return true // cut into MIG instances
			}
		}
	}
	return false
}

// isUp reports that no scheduler has the node powered down.
func isUp(n *fleet.Node) bool {
	for i := range n.Views {
		v := &n.Views[i]
		if v.Base == fleet.BaseFuture || v.Has(fleet.FlagPoweredDown) || v.Has(fleet.FlagPoweringDown) {
			return false
		}
	}
	return true
}

// agentWay is how the config says that agents are reached.
func agentWay(c *config.Agents, pool *remote.Pool) (client.Way, error) {
	host := remote.Host{
		User: c.User, Port: c.Port, ConfigFile: c.ConfigFile, IdentityFiles: c.IdentityFiles, KnownHosts: c.KnownHosts,
	}
	switch c.Via {
	case "ssh":
		name := "ssh"
		if c.Jump != "" {
			name += " through " + c.Jump
		}
		return &client.SSHWay{Pool: pool, Host: host.Through(c.Jump), Command: c.Command, Name: name}, nil
	case "socket":
		way := &client.SocketWay{Path: c.Socket, Name: "socket"}
		if c.Jump != "" {
			host.Alias = c.Jump
			conn := pool.Conn(host)
			way.Name, way.DialUnix = conn.Via(), conn.DialUnix
		}
		return way, nil
	case "https":
		tls, err := client.LoadTLS(c.CAFile, c.CertFile, c.KeyFile)
		if err != nil {
			return nil, err
		}
		return &client.HTTPSWay{Port: c.Port, TLS: tls}, nil
	}
	return nil, errors.New("this gpuctl does not reach agents via " + cmp.Or(c.Via, "nothing") + "; use ssh, socket or https")
}
