package actions

import "time"

// Auditor keeps the record of what was done. Its methods may be called from
// several goroutines.
type Auditor interface {
	// Ready says why nothing can be recorded; nil when it can. It is asked for
	// every plan: what cannot be recorded is not done.
	Ready() error
	// Record has written the entry durably when it returns.
	Record(Entry) error
	// Touched returns the distinct nodes of the cluster that were taken out of service
	// since then, by anyone whose records these are.
	Touched(cluster string, since time.Time) ([]string, error)
}

// Phase says at which moment of a run an Entry was made.
type Phase string

// The phases of a run.
const (
	PhaseRefused Phase = "refused" // the whole plan was refused; nothing was sent
	PhaseBefore  Phase = "before"  // a step is about to be sent
	PhaseAfter   Phase = "after"   // what became of a step
	PhaseDone    Phase = "done"    // what became of the plan
)

// Entry is one record for the Auditor. The Auditor adds who: a person and a host.
type Entry struct {
	At      time.Time `json:"at"`
	Phase   Phase     `json:"phase"`
	Plan    string    `json:"plan"`
	Verb    Verb      `json:"verb"`
	Cluster string    `json:"cluster"` // several of a plan: joined with "+"
	As      string    `json:"as,omitempty"`
	Via     string    `json:"via,omitempty"`
	// Step, Name, Target and Command are those of one step; Targets of a plan.
	Step    int      `json:"step,omitempty"`
	Name    string   `json:"name,omitempty"`
	Target  Target   `json:"target,omitzero"`
	Targets []string `json:"targets,omitempty"`
	Command string   `json:"command,omitempty"`
	Before  string   `json:"before,omitempty"`
	After   string   `json:"after,omitempty"`
	Result  Outcome  `json:"result,omitempty"`
	Detail  string   `json:"detail,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Ticket  string   `json:"ticket,omitempty"`
	// Override is the cluster whose cap the operator lifted by typing its name.
	Override string `json:"override,omitempty"`
}
