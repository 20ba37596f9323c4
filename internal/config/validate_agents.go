package config

import (
	"path"
	"reflect"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// maxConcurrency keeps a login node from being hurt.
const maxConcurrency = 256

// agents checks how node agents are reached.
func (v *problems) agents(a *Agents) {
	v.oneOf("agents.via", a.Via, "ssh", "socket", "kube", "https")
	if a.Via == "" && !reflect.ValueOf(*a).IsZero() {
		v.add("agents.via", "is missing; it must be one of ssh, socket, kube, https")
	}
	if _, err := fleet.MatchHosts(a.Nodes); err != nil {
		v.add("agents.nodes", "%v", err)
	}
	if a.Port < 0 || a.Port > 65535 {
		v.add("agents.port", "is %d; it must be from 1 to 65535", a.Port)
	}
	if a.Concurrency < 0 || a.Concurrency > maxConcurrency {
		v.add("agents.concurrency", "is %d; it must be from 1 to %d", a.Concurrency, maxConcurrency)
	}
	if len(a.Command) > 0 && a.Command[0] == "" {
		v.add("agents.command", "names no command")
	}
	switch a.Via {
	case "socket":
		v.agentSocket(a)
	case "https":
		v.agentHTTPS(a)
	}
}

// agentSocket checks the place of the agents' sockets. Without {node} in it every node
// would be the same one.
func (v *problems) agentSocket(a *Agents) {
	switch {
	case a.Socket == "":
		v.add("agents.socket", "is missing; it looks like /run/gpuctl/{node}.sock")
	case strings.ContainsAny(a.Jump, "@:,"):
		v.add("agents.jump", "is %q; for sockets it is one host, with its user and port in agents.user and agents.port", a.Jump)
	case !path.IsAbs(a.Socket):
		v.add("agents.socket", "is %q; it must be an absolute path", a.Socket)
	case !strings.Contains(a.Socket, "{node}") && len(a.Nodes) != 1:
		v.add("agents.socket", "is %q, the same for every node: write {node} where the node's name belongs, or name the one node in agents.nodes", a.Socket)
	}
}

func (v *problems) agentHTTPS(a *Agents) {
	if a.Port == 0 {
		v.add("agents.port", "is missing: where the agents listen")
	}
	if a.CertFile == "" || a.KeyFile == "" {
		v.add("agents", "needs certFile and keyFile: agents let nobody in without a certificate")
	}
}
