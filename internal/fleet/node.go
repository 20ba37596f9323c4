package fleet

import (
	"slices"
	"time"
)

// Node is one physical host: the join of what every scheduler says of it.
type Node struct {
	Name  string // short host name, or the name the config gives it
	Views []View // one for each cluster that knows the host, sorted by cluster
	GPUs  []GPU  // by index
	// Agent is what the node's agent says; nil without one.
	Agent *AgentInfo
	// Disagree says, in words, how two schedulers contradict each other; empty
	// when they do not.
	Disagree string
}

// View is what ONE scheduler says of a node.
type View struct {
	Cluster string
	Kind    Scheduler
	Node    string // the scheduler's name of the node
	// Base is the scheduler's base state in its own upper-case word: for Slurm
	// IDLE, MIXED, ALLOCATED, DOWN, ERROR, FUTURE, UNKNOWN, INVAL; for
	// Kubernetes READY, NOT_READY, UNKNOWN.
	Base string
	// Flags are the further words, in the scheduler's order, without repeats:
	// DRAIN, NOT_RESPONDING, PLANNED, MAINTENANCE, ...
	Flags  []string
	Reason Reason
	Queues []string // partitions
	GPUs   GPUCount
	GRES   []GRES // as configured, every kind
	// UsedGRES is what is allocated, with indices where the scheduler tells.
	UsedGRES []GRES
	CPUs     CPUCount
	Memory   MemoryCount
	Features []string
	Address  string
	Version  string // of the node's own daemon (slurmd, kubelet)
	OS       string
	Booted   time.Time
	DaemonUp time.Time // since when the daemon runs
	LastBusy time.Time
	Load     float64 // 1 minute load average; NaN when not told
	Comment  string
	Oddities []string // what could not be understood of this record, in words
	Raw      string   // the scheduler's own text, for the detail pane
	Resv     string   // reservation the node is in
}

// Reason is why a scheduler has a node out of service.
type Reason struct {
	Text   string
	Author string // "slurm", "root", a user; empty when not told
	At     time.Time
}

// GPUCount counts whole GPUs of a view. MIG slices, shards and MPS shares are
// never counted here (see GRES).
type GPUCount struct {
	Total, Allocated int
	Model            string // the GRES type or product, "h100"; "mixed" when several
}

// Free is what is left; never below 0.
func (c GPUCount) Free() int { return max(0, c.Total-c.Allocated) }

// CPUCount counts logical CPUs.
type CPUCount struct{ Total, Allocated int }

// MemoryCount is in MiB. Free is what the operating system has left; -1 when not told.
type MemoryCount struct{ Total, Allocated, Free int64 }

// GRES is one generic resource of a node or job: gpu, shard, mps, or another name.
type GRES struct {
	Name    string // "gpu"
	Type    string // "h100", "nvidia_h100_nvl_1g.12gb"; may be empty
	Count   int64
	Indices []int  // device indices (Slurm's IDX: minor numbers), when told
	Sockets string // raw "(S:0-1)" part, when told
	Raw     string // the text it came from
}

// Node states and flags that mean something to gpuctl itself; any other word is
// shown as it is.
const (
	BaseIdle      = "IDLE"
	BaseMixed     = "MIXED"
	BaseAllocated = "ALLOCATED"
	BaseDown      = "DOWN"
	BaseError     = "ERROR"
	BaseFuture    = "FUTURE"
	BaseUnknown   = "UNKNOWN"
	BaseInval     = "INVAL"

	FlagDrain         = "DRAIN" // new work is kept away (Kubernetes: cordoned)
	FlagNotResponding = "NOT_RESPONDING"
	FlagCompleting    = "COMPLETING"
	FlagFail          = "FAIL"
	FlagInvalidReg    = "INVALID_REG"
	FlagMaintenance   = "MAINTENANCE"
	FlagReserved      = "RESERVED"
	FlagPlanned       = "PLANNED"
	FlagPoweredDown   = "POWERED_DOWN"
	FlagPoweringDown  = "POWERING_DOWN"
	FlagPoweringUp    = "POWERING_UP"
	FlagRebootIssued  = "REBOOT_ISSUED"
	FlagRebootWanted  = "REBOOT_REQUESTED"
	FlagCloud         = "CLOUD"
	FlagBlocked       = "BLOCKED"
)

// Has reports whether the view carries the flag.
func (v *View) Has(flag string) bool { return slices.Contains(v.Flags, flag) }

// Busy reports whether work is on the node or just leaving it. COMPLETING is
// busy: the epilog still runs.
func (v *View) Busy() bool {
	switch v.Base {
	case BaseMixed, BaseAllocated:
		return true
	}
	return v.Has(FlagCompleting) || v.GPUs.Allocated > 0 || v.CPUs.Allocated > 0
}

// Draining reports a drain with work still on the node.
func (v *View) Draining() bool { return v.Has(FlagDrain) && v.Busy() }

// Drained reports a drain with nothing left on the node. One reading is not
// proof: an action reads it twice.
func (v *View) Drained() bool { return v.Has(FlagDrain) && !v.Busy() }

// Faulty reports a node that cannot work by its scheduler's own word.
func (v *View) Faulty() bool {
	switch v.Base {
	case BaseDown, BaseError, BaseInval:
		return true
	}
	return v.Has(FlagNotResponding) || v.Has(FlagFail) || v.Has(FlagInvalidReg)
}

// Condition is the coarse class of a node for counting and colour.
type Condition uint8

// The conditions, worst first. Every node has exactly one.
const (
	CondFaulty   Condition = iota // cannot work: down, error, not responding, failing, invalid
	CondDraining                  // kept from new work: draining or drained
	CondOther                     // maintenance, powered down, future, unknown: neither free nor broken
	CondBusy                      // some or all of it allocated
	CondFree                      // takes work now
)

// String is the condition's one word.
func (c Condition) String() string {
	return [...]string{"faulty", "draining", "other", "busy", "free"}[c]
}

// Condition classifies the view. Free means that the scheduler would start work
// here now; an unknown word is never free.
func (v *View) Condition() Condition {
	switch {
	case v.Faulty():
		return CondFaulty
	case v.Has(FlagDrain):
		return CondDraining
	case v.OutOfUse():
		return CondOther
	case v.Busy():
		return CondBusy
	case v.takesWork():
		return CondFree
	}
	return CondOther
}

// takesWork reports that a node takes work in its state and with each of its flags.
// One that nobody here knows is not taken for harmless.
func (v *View) takesWork() bool {
	switch v.Base {
	case BaseIdle, BaseMixed, BaseAllocated:
	default:
		return false
	}
	for _, f := range v.Flags {
		switch f {
		case FlagCloud, FlagPlanned, FlagReserved, FlagCompleting, "DYNAMIC_NORM", "DYNAMIC_FUTURE", "PERFCTRS", "NET",
			"RESUME", "UNDRAIN", "REBOOT_CANCEL", "POWER_UP", "PARTIAL":
		default:
			return false
		}
	}
	return true
}

// OutOfUse reports the flags with which a healthy node takes no new work:
// maintenance, power saving, a reboot on the way.
func (v *View) OutOfUse() bool {
	for _, f := range v.Flags {
		switch f {
		case FlagMaintenance, FlagPoweredDown, FlagPoweringDown, FlagPoweringUp,
			FlagRebootIssued, FlagRebootWanted, FlagBlocked, "POWER_DOWN", "POWER_DRAIN":
			return true
		}
	}
	return false
}

// Condition is the worst condition of the node's views.
func (n *Node) Condition() Condition {
	worst := CondFree
	if len(n.Views) == 0 {
		return CondOther
	}
	for i := range n.Views {
		worst = min(worst, n.Views[i].Condition())
	}
	return worst
}

// Usable is how many GPUs work could start on now: none on a node that takes none.
func (n *Node) Usable() int {
	for i := range n.Views {
		v := &n.Views[i]
		if c := v.Condition(); c != CondBusy && c != CondFree || !v.takesWork() {
			return 0
		}
	}
	return n.GPUCount().Free()
}

// View returns what the cluster says of the node, or nil.
func (n *Node) View(cluster string) *View {
	for i := range n.Views {
		if n.Views[i].Cluster == cluster {
			return &n.Views[i]
		}
	}
	return nil
}

// GPUCount counts the GPUs of the host itself: two schedulers that share it see the
// same devices, so totals are not added up but allocations are.
func (n *Node) GPUCount() GPUCount {
	var c GPUCount
	for i := range n.Views {
		g := n.Views[i].GPUs
		c.Total = max(c.Total, g.Total)
		c.Allocated += g.Allocated
		if c.Model == "" {
			c.Model = g.Model
		}
	}
	c.Allocated = min(c.Allocated, c.Total)
	return c
}
