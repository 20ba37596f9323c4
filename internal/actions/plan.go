package actions

import (
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Verb is what an operator wants done. The words are those of the command line.
type Verb string

// The verbs.
const (
	Drain     Verb = "drain"
	Undrain   Verb = "undrain"
	Hold      Verb = "hold"
	Release   Verb = "release"
	Requeue   Verb = "requeue"
	Cancel    Verb = "cancel"
	Preempt   Verb = "preempt"
	Suspend   Verb = "suspend"
	Unsuspend Verb = "unsuspend"
	// Update changes a job: priority, time limit, partition, excluded nodes.
	Update Verb = "update"
	// MIGApply partitions GPUs of a node; GPUReset resets them.
	MIGApply Verb = "mig-apply"
	GPUReset Verb = "gpu-reset"
)

// Known reports whether gpuctl has the verb.
func (v Verb) Known() bool {
	switch v {
	case Drain, Undrain, Hold, Release, Requeue, Cancel, Preempt, Suspend, Unsuspend, Update, MIGApply, GPUReset:
		return true
	}
	return false
}

// TakesNodesAway reports the verbs that take nodes out of service, which the cap on
// nodes counts.
func (v Verb) TakesNodesAway() bool { return v == Drain || v == MIGApply || v == GPUReset }

// Target names one thing that a request is about.
type Target struct {
	Kind    fleet.Kind   `json:"kind"` // node or job
	Cluster string       `json:"cluster"`
	Name    string       `json:"name"` // node name, or job id as shown
	Job     fleet.JobKey `json:"job,omitzero"`
}

// Options are what a request may add. Zero values mean "not asked for".
type Options struct {
	Reason  string        `json:"reason,omitempty"`  // drain: why; else: for the audit log
	Ticket  string        `json:"ticket,omitempty"`  // for the audit log
	Now     bool          `json:"now,omitempty"`     // requeue: start at once instead of after Slurm's two minutes
	Hold    bool          `json:"hold,omitempty"`    // requeue: leave it held
	Signal  string        `json:"signal,omitempty"`  // cancel: instead of TERM+KILL; preempt: sent first, to let the job save
	Grace   time.Duration `json:"grace,omitempty"`   // preempt: wait after Signal
	For     string        `json:"for,omitempty"`     // preempt: job id that is to get the room
	Timeout time.Duration `json:"timeout,omitempty"` // whole run; 0: the verb's default
	// Changes of the update verb; nil or empty: unchanged.
	Priority  *int64   `json:"priority,omitempty"`
	TimeLimit string   `json:"timeLimit,omitempty"` // Slurm's own syntax: 1-00:00:00, UNLIMITED, +60
	Partition string   `json:"partition,omitempty"`
	Exclude   []string `json:"exclude,omitempty"` // nodes; also with release and requeue
	// GPUs are those of the one target of mig-apply and gpu-reset.
	GPUs []GPUWish `json:"gpus,omitempty"`
	// NoDrain lets mig-apply and gpu-reset act on a node that stays in service.
	NoDrain bool `json:"noDrain,omitempty"`
}

// GPUWish names a GPU of a node, and the MIG layout that it shall have.
type GPUWish struct {
	UUID   string `json:"uuid"`
	Layout string `json:"layout,omitempty"` // mig-apply only
}

// Request is a wish, before any planning.
type Request struct {
	Verb    Verb     `json:"verb"`
	Targets []Target `json:"targets"`
	Options Options  `json:"options"`
}

// Guard is how much must be confirmed before a plan runs.
type Guard string

// The guard levels, weakest first.
const (
	GuardNone    Guard = "none"
	GuardConfirm Guard = "confirm"
	GuardTyped   Guard = "typed"
)

// Plan is what would be done, computed without side effects. Plans of several
// clusters are one Plan with steps of each.
type Plan struct {
	ID      string    `json:"id"` // unique, sortable by time
	Verb    Verb      `json:"verb"`
	Request Request   `json:"request"`
	At      time.Time `json:"at"`
	Seq     uint64    `json:"snapshot"` // of the snapshot it was made from
	// Clusters lists whom we act as where: one entry for each cluster touched.
	Clusters []Acting     `json:"clusters"`
	Targets  []TargetPlan `json:"targets"`
	Steps    []Step       `json:"steps"`
	Impact   Impact       `json:"impact"`
	Warnings []string     `json:"warnings,omitempty"`
	Blockers []Blocker    `json:"blockers,omitempty"` // any of these refuses the plan
	// UndoneBy names who is likely to undo the effect (NHC, an operator, a syncer).
	UndoneBy []string `json:"undoneBy,omitempty"`
	// Inverse is the request that takes the plan back; nil when nothing can.
	Inverse *Request `json:"inverse,omitempty"`
	Guard   Guard    `json:"guard"`
	// GuardWhy says what raised Guard above what the config asks for.
	GuardWhy []string `json:"guardWhy,omitempty"`
	// Word is what must be typed at GuardTyped: the node's name, or the cluster's
	// for several targets.
	Word    string        `json:"word,omitempty"`
	Timeout time.Duration `json:"timeout"`
}

// Acting is the identity behind the steps on one cluster.
type Acting struct {
	Cluster string     `json:"cluster"`
	User    string     `json:"user"`
	Role    fleet.Role `json:"role"`
	Via     string     `json:"via"`
}

// Fate is what a plan does with one target.
type Fate string

// The fates of a target.
const (
	FateAct    Fate = "act"    // steps exist for it
	FateSkip   Fate = "skip"   // nothing to do: it already is so
	FateRefuse Fate = "refuse" // cannot be done; Why says what stands in the way
)

// TargetPlan is the verdict on one target.
type TargetPlan struct {
	Target Target `json:"target"`
	Fate   Fate   `json:"fate"`
	Why    string `json:"why,omitempty"`
	Before string `json:"before"` // its state in the snapshot, in words
}

// Blocker is something that refuses a plan.
type Blocker struct {
	Code    BlockCode `json:"code"`
	Text    string    `json:"text"`              // one sentence: what, where, what next
	Cluster string    `json:"cluster,omitempty"` // whose; empty: of the whole plan
}

// BlockCode classes blockers, for exit codes and tests.
type BlockCode string

// The kinds of blocker.
const (
	BlockReadOnly BlockCode = "read-only"
	BlockSource   BlockCode = "source"  // its source is not live
	BlockRight    BlockCode = "right"   // the identity may not
	BlockVersion  BlockCode = "version" // this version or transport cannot
	BlockTarget   BlockCode = "target"  // a target is unknown or in the wrong state
	BlockCap      BlockCode = "cap"     // more nodes than the window allows
	BlockInput    BlockCode = "input"   // an option is missing or wrong
	BlockAudit    BlockCode = "audit"   // it could not be recorded
	BlockGuard    BlockCode = "guard"   // not confirmed, or not with the right word
	BlockOld      BlockCode = "old"     // the plan is too old, or was run already
)

// Impact is what the plan stops.
type Impact struct {
	Nodes    int      `json:"nodes"`
	Jobs     []string `json:"jobs,omitempty"`  // ids
	Users    []string `json:"users,omitempty"` // distinct
	GPUs     int      `json:"gpus"`            // held by Jobs now
	GPUHours float64  `json:"gpuHours"`        // run so far by Jobs; all lost without a checkpoint
	// Note says how GPUHours is to be read.
	Note string `json:"note,omitempty"`
}

// Step is one call and the read-back that proves it. It is data, so that it can
// be journalled and shown; the backend that made it carries it out.
type Step struct {
	N       int               `json:"n"` // from 1
	Name    string            `json:"name"`
	Backend fleet.Scheduler   `json:"backend"`
	Op      string            `json:"op"` // the backend's word for it
	Target  Target            `json:"target"`
	Args    map[string]string `json:"args,omitempty"`
	// Command is the call in plain form, as an operator would type it.
	Command string `json:"command,omitempty"`
	// Expect says in words what the read-back must show.
	Expect string `json:"expect"`
	// WaitOnly steps send nothing: they watch until Expect holds.
	WaitOnly bool `json:"waitOnly,omitempty"`
	// Grace makes a step that only gives time: it is verified when Expect is shown
	// or when the time is over, whichever comes first.
	Grace time.Duration `json:"grace,omitempty"`
	// Patience bounds the call where the usual half minute is too short.
	Patience time.Duration `json:"patience,omitempty"`
	// Needs lists the steps (by N) that must be verified first; a step whose need
	// failed is not tried.
	Needs []int `json:"needs,omitempty"`
	// Twice asks for two read-backs in a row before it counts as verified.
	Twice bool `json:"twice,omitempty"`
}

// Outcome is how a step, or the whole run, ended.
type Outcome string

// The outcomes.
const (
	Verified    Outcome = "verified"
	NotVerified Outcome = "not_verified" // sent, but the read-back did not show it in time
	Refused     Outcome = "refused"      // nothing was sent, or the scheduler said no
	Failed      Outcome = "failed"       // it could not be sent
	NotTried    Outcome = "not_tried"    // an earlier step it needs did not succeed
)

// StepResult is what became of one step.
type StepResult struct {
	N      int           `json:"n"`
	Name   string        `json:"name"`
	Target Target        `json:"target"`
	Result Outcome       `json:"result"`
	Detail string        `json:"detail,omitempty"` // the last read-back or the refusal, in words
	Before string        `json:"before,omitempty"`
	After  string        `json:"after,omitempty"`
	Took   time.Duration `json:"-"`
	TookMS int64         `json:"took_ms"`
}

// Result is what became of a plan.
type Result struct {
	Plan   *Plan        `json:"plan"`
	Result Outcome      `json:"result"`
	Steps  []StepResult `json:"steps"`
	// Message is one sentence for the board and the terminal.
	Message string `json:"message,omitempty"`
}
