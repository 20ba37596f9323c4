package fleet

import (
	"slices"
	"time"
)

// JobKey identifies a job for good: schedulers use ids again, so the submit time
// belongs to it.
type JobKey struct {
	Cluster string
	// ID is stable while the job lives: "4711", an array task "8_3", the
	// waiting rest of an array "8_*", a het component "9+1".
	ID     string
	Submit int64 // Unix seconds; 0 when not told
}

// Job is what a user submitted: a Slurm job, the waiting rest of a job array, an
// array task, a het component, or a Kubernetes workload.
type Job struct {
	Key  JobKey
	Kind Scheduler
	// ID is what people write and squeue(1) shows: "4711", "8_3", "8_[4-7%2]", "9+1".
	ID      string
	RawID   int64     // Slurm's own number of this record; 0 when none
	Array   *ArrayRef // nil when not part of an array
	Het     *HetRef   // nil when not part of a het job
	Name    string
	User    string
	Account string
	Queue   string // partition (several while pending: "low,high")
	QOS     string
	// Base is the state in the scheduler's upper-case word: PENDING, RUNNING,
	// SUSPENDED, COMPLETED, CANCELLED, FAILED, TIMEOUT, NODE_FAIL, PREEMPTED,
	// BOOT_FAIL, DEADLINE, OUT_OF_MEMORY.
	Base   string
	Flags  []string // COMPLETING, CONFIGURING, REQUEUED, ...
	Reason PendingReason
	GPUs   GPUDemand
	// Nodes are the hosts it holds (or held, when ended), expanded and in host list
	// order; empty while it waits.
	Nodes     []string
	NodeCount int // nodes held, or wanted while it waits
	CPUs      int
	BatchHost string // where the batch script runs or last ran
	ReqNodes  string // folded host list the user asked for
	ExcNodes  string // folded host list the user excluded
	// SchedNodes is where the scheduler plans to start it (folded).
	SchedNodes string
	Submitted  time.Time
	Eligible   time.Time
	Started    time.Time // zero until it started; an estimate is in EstStart
	Ended      time.Time
	EstStart   time.Time // the scheduler's estimate for a pending job; zero: none
	Preempted  time.Time // when preemption began; zero: not being preempted
	Limit      Limit
	Restarts   int
	Requeue    bool // the scheduler may requeue it
	Priority   int64
	Dependency string
	Comment    string
	WorkDir    string
	StdOut     string
	StdErr     string
	Features   string
	ExitCode   int // -1: not told
	Signal     int // that ended it; 0: none
	Oddities   []string
	Raw        string
}

// ArrayRef places a job in its job array.
type ArrayRef struct {
	JobID int64  // the array's own id
	Task  int64  // this task; -1 for the waiting rest
	Tasks string // the waiting rest's task set: "4-7,9"; empty for one task
	Count int    // number of tasks that this record stands for
	Limit int    // most tasks at once (the %N); 0: no limit
}

// HetRef places a job in its heterogeneous job.
type HetRef struct {
	JobID  int64 // the leader's id
	Offset int
}

// PendingReason is why a job is in its state, in the scheduler's own words.
type PendingReason struct {
	Code string // "Resources", "QOSMaxGRESPerUser", "launch_failed_requeued_held"
	Text string // the rest: "UnavailableNodes:gpu-node[003-004]"
}

// GPUDemand is whole GPUs. Held is from the allocation's totals.
type GPUDemand struct {
	Wanted, Held int
	Model        string
}

// LimitKind tells apart the words a time limit can be.
type LimitKind uint8

// The kinds of Limit.
const (
	LimitUnknown   LimitKind = iota // not told, INVALID, NOT_SET
	LimitSet                        // Duration holds
	LimitNone                       // UNLIMITED
	LimitPartition                  // Partition_Limit: the partition's own
)

// Limit is a time limit.
type Limit struct {
	Kind     LimitKind
	Duration time.Duration
}

// Job states that mean something to gpuctl itself.
const (
	JobPending   = "PENDING"
	JobRunning   = "RUNNING"
	JobSuspended = "SUSPENDED"
	JobCompleted = "COMPLETED"
	JobCancelled = "CANCELLED"
	JobFailed    = "FAILED"
	JobTimeout   = "TIMEOUT"
	JobNodeFail  = "NODE_FAIL"
	JobPreempted = "PREEMPTED"
	JobOOM       = "OUT_OF_MEMORY"

	JobFlagCompleting  = "COMPLETING"
	JobFlagConfiguring = "CONFIGURING"
	JobFlagRequeued    = "REQUEUED"
	JobFlagHold        = "REQUEUE_HOLD"
)

// Has reports whether the job carries the flag. Slurm's commands print COMPLETING
// and REQUEUED in place of the base, and then it stands there.
func (j *Job) Has(flag string) bool { return j.Base == flag || slices.Contains(j.Flags, flag) }

// Waiting reports a job that has yet to start.
func (j *Job) Waiting() bool { return j.Base == JobPending && !j.Has(JobFlagCompleting) }

// Active reports a job that holds nodes.
func (j *Job) Active() bool {
	return j.Base == JobRunning || j.Base == JobSuspended || j.Has(JobFlagCompleting)
}

// Done reports a job that has ended and holds nothing.
func (j *Job) Done() bool { return !j.Waiting() && !j.Active() }

// Held reports a job that waits until somebody releases it.
func (j *Job) Held() bool {
	if !j.Waiting() {
		return false
	}
	switch j.Reason.Code {
	case "JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue",
		"launch_failed_requeued_held", "job_requeued_in_held_state":
		return true
	}
	return j.Has(JobFlagHold)
}

// Elapsed is how long the job ran, or has run at now. It is false for a job that
// has not started.
func (j *Job) Elapsed(now time.Time) (time.Duration, bool) {
	if j.Started.IsZero() || j.Waiting() {
		return 0, false
	}
	if j.Done() && !j.Ended.IsZero() {
		now = j.Ended
	}
	return max(0, now.Sub(j.Started)), true
}

// Absent reports that there is no reason: schedulers have several words for it.
func (r PendingReason) Absent() bool {
	switch r.Code {
	case "", "None", "none", "(null)", "N/A":
		return r.Text == ""
	}
	return false
}
