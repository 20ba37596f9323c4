// Package config is gpuctl's config file: one struct, its defaults, its checks, and
// where it was read from. It runs nothing and connects to nothing.
//
// It imports fleet.
package config

import (
	"encoding/json"
	"fmt"
	"time"
)

// Config is everything that can be set. The zero value of a field means "not set";
// Default has what then holds.
type Config struct {
	Clusters    []Cluster    `json:"clusters,omitempty"`
	Agents      Agents       `json:"agents,omitzero"`
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
	Limits      Limits       `json:"limits,omitzero"`
	// ReadOnly switches every action off. Once any file sets it, it stays set.
	ReadOnly bool `json:"readOnly,omitempty"`
	// TicketRequired refuses actions without a ticket.
	TicketRequired bool   `json:"ticketRequired,omitempty"`
	Theme          string `json:"theme,omitempty"`
	ASCII          bool   `json:"ascii,omitempty"`
	Mouse          bool   `json:"mouse,omitempty"`
	// TimeZone is how times are shown: "utc", "local" or a cluster's name.
	TimeZone string `json:"timeZone,omitempty"`
	AuditDir string `json:"auditDir,omitempty"` // default: below StateDir
	StateDir string `json:"stateDir,omitempty"` // default: $XDG_STATE_HOME/gpuctl
	// Nodes gives a scheduler's node another host name: "cluster/node" or "node" to host.
	Nodes map[string]string `json:"nodes,omitempty"`
}

// Cluster is one scheduler to watch and act on.
type Cluster struct {
	Name       string      `json:"name"`
	Slurm      *Slurm      `json:"slurm,omitempty"`
	Kubernetes *Kubernetes `json:"kubernetes,omitempty"`
	// Guard is the least that must be confirmed: none, confirm or typed.
	Guard      string `json:"guard,omitempty"`
	ReadOnly   bool   `json:"readOnly,omitempty"`
	Production bool   `json:"production,omitempty"` // raises the guard, and shows
	// Interval is the time between polls; at least 2s.
	Interval Duration `json:"interval,omitempty"`
}

// Slurm holds the ways to one Slurm cluster. Several may be set: reads take the
// cheapest (local, then ssh, then rest), writes the first that can.
type Slurm struct {
	Local *Local `json:"local,omitempty"`
	SSH   *SSH   `json:"ssh,omitempty"`
	REST  *REST  `json:"rest,omitempty"`
}

// Local runs the Slurm commands of this machine.
type Local struct {
	Conf string `json:"conf,omitempty"` // SLURM_CONF
}

// SSH runs the Slurm commands of a login node. Empty fields leave the say to
// ssh_config(5).
type SSH struct {
	Host          string  `json:"host"`
	User          string  `json:"user,omitempty"`
	Port          int     `json:"port,omitempty"`
	IdentityFiles Strings `json:"identityFiles,omitempty"`
	KnownHosts    Strings `json:"knownHosts,omitempty"`
	ConfigFile    string  `json:"configFile,omitempty"` // instead of ~/.ssh/config; "none" reads none
	Conf          string  `json:"conf,omitempty"`       // SLURM_CONF there
}

// REST speaks to slurmrestd, at a URL or at a unix socket, here or forwarded over SSH.
type REST struct {
	URL    string `json:"url,omitempty"`
	Socket string `json:"socket,omitempty"`
	// SSH is the host on which URL or Socket is; empty: this one.
	SSH          *SSH     `json:"ssh,omitempty"`
	User         string   `json:"user,omitempty"`
	TokenFile    string   `json:"tokenFile,omitempty"`
	TokenEnv     string   `json:"tokenEnv,omitempty"`     // name of an environment variable
	TokenCommand []string `json:"tokenCommand,omitempty"` // argv; prints a token
	APIVersion   string   `json:"apiVersion,omitempty"`   // default: the newest common one
	CAFile       string   `json:"caFile,omitempty"`
	Timeout      Duration `json:"timeout,omitempty"`
}

// Kubernetes names a context of a kubeconfig.
type Kubernetes struct {
	Context    string `json:"context,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// Agents says how node agents are reached. Empty SSH fields leave the say to
// ssh_config(5).
type Agents struct {
	Via string `json:"via,omitempty"` // ssh, socket, kube or https
	// Nodes are the nodes that have agents, as host lists with * and ?; empty: every
	// node that has GPUs by its scheduler's word.
	Nodes Strings `json:"nodes,omitempty"`
	// Command is what SSH starts on a node; default: gpuctl agent --stdio.
	Command []string `json:"command,omitempty"`
	// Socket is the agents' unix socket, where {node} stands for the node's name:
	// /run/gpuctl/{node}.sock. It is on Jump, or on this machine.
	Socket        string  `json:"socket,omitempty"`
	Jump          string  `json:"jump,omitempty"` // the host to go through, as for ssh -J
	User          string  `json:"user,omitempty"`
	Port          int     `json:"port,omitempty"` // of sshd, or of the agents over https
	IdentityFiles Strings `json:"identityFiles,omitempty"`
	KnownHosts    Strings `json:"knownHosts,omitempty"`
	ConfigFile    string  `json:"configFile,omitempty"` // instead of ~/.ssh/config; "none" reads none
	// Concurrency is how many nodes are connected to at the same time; default 32.
	Concurrency int    `json:"concurrency,omitempty"`
	CAFile      string `json:"caFile,omitempty"`   // who signed the agents' certificates
	CertFile    string `json:"certFile,omitempty"` // our own certificate and its key, for https
	KeyFile     string `json:"keyFile,omitempty"`
}

// Checkpoint says where jobs that match keep their checkpoints.
type Checkpoint struct {
	Match  string            `json:"match"`
	Dir    string            `json:"dir"`
	Resume map[string]string `json:"resume,omitempty"`
}

// Limits cap how many nodes may be taken out of service within a window.
type Limits struct {
	NodesPerWindow int      `json:"nodesPerWindow,omitempty"` // 0: no cap by count
	Window         Duration `json:"window,omitempty"`
	Percent        float64  `json:"percent,omitempty"` // of a cluster's nodes; 0: no cap by share
}

// Strings is a list of texts; one text alone may be written without brackets.
type Strings []string

// UnmarshalJSON reads a text or a list of texts.
func (s *Strings) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*s = Strings{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(s))
}

// Duration is a time.Duration written as "10s" or "1h30m".
type Duration time.Duration

// MarshalJSON writes the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads a duration with its unit.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s is not a duration with a unit, such as 10s or 5m", b)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration with a unit, such as 10s or 5m", s)
	}
	*d = Duration(v)
	return nil
}

// Default is what holds where nothing is set.
func Default() Config {
	return Config{
		Limits:   Limits{NodesPerWindow: 8, Window: Duration(10 * time.Minute), Percent: 25},
		Theme:    "terminal",
		TimeZone: "utc",
	}
}
