package fleet

import "time"

// Severity ranks findings.
type Severity uint8

// Severities, worst first.
const (
	Critical Severity = iota
	Warning
	Info
)

// String is the word used on the screen and in JSON.
func (s Severity) String() string { return [...]string{"critical", "warning", "info"}[s] }

// Kind names what a Subject or a target is.
type Kind string

// The kinds of things a finding, an event or an action can be about.
const (
	KindNode    Kind = "node"
	KindJob     Kind = "job"
	KindGPU     Kind = "gpu"
	KindSource  Kind = "source"
	KindCluster Kind = "cluster"
)

// Subject is what something is about.
type Subject struct {
	Kind    Kind
	Cluster string // empty when it is about the whole fleet
	Name    string // node name, job id, GPU id, source name
}

// Blast is how much a finding costs.
type Blast struct {
	GPUs  int
	Jobs  int
	Users []string
}

// Finding is something wrong, with what proves it and what helps.
type Finding struct {
	ID       string // rule + subject, stable
	Rule     string // "slurm-node-down"
	Severity Severity
	Subject  Subject
	Title    string // one line
	Evidence []string
	Since    time.Time // zero: not told
	Blast    Blast
	Advice   string
	Actions  []string // verbs that apply, best first
}

// Event is one line of the timeline: a change that a source reported, or an act.
type Event struct {
	At      time.Time
	Source  string
	Subject Subject
	What    string // "state", "reason", "started", "ended", "requeued", "source", "action",
	// "agent", "gpu", "mig", or a fault's kind
	Before string
	After  string
	Author string // who did it, when the source tells
}
