package slurm

import (
	"context"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Transport is one way to one cluster. Its methods are safe for concurrent use.
// All of them return errors that wrap one of this package's sentinels where the
// class is known. Times are absolute whatever zone the cluster keeps.
type Transport interface {
	// Via names it for people: "local", "ssh login1", "rest http://127.0.0.1:6820".
	Via() string
	// Hello asks who and what answers; it is called before anything else and again
	// after a failure.
	Hello(ctx context.Context) (Hello, error)

	Nodes(ctx context.Context) ([]fleet.View, error)
	// Jobs lists all states that slurmctld still has. What squeue(1) cannot list is
	// left to Job, whichever transport answers: excluded nodes, and where standard
	// output and error go (some versions list them, with their %j left in).
	Jobs(ctx context.Context) ([]fleet.Job, error)
	Partitions(ctx context.Context) ([]fleet.Partition, error)
	Reservations(ctx context.Context) ([]fleet.Reservation, error)
	Stats(ctx context.Context) (fleet.SchedulerStats, error)
	QOS(ctx context.Context) ([]fleet.QOS, error)

	// Node and Job read one record in full, freshly. ErrNotFound when there is none.
	// Job takes any id that squeue(1) shows and returns every record it stands for.
	Node(ctx context.Context, name string) (fleet.View, error)
	Job(ctx context.Context, id string) ([]JobDetail, error)
	// Accounting lists jobs that ended at or after since, from slurmdbd, every run
	// of a requeued job apart. ErrNoAccounting when the cluster keeps none.
	Accounting(ctx context.Context, since time.Time) ([]fleet.Job, error)

	// Can says whether this transport and version can do op at all: nil, or an
	// error that wraps ErrUnsupported and says why. Rights are another matter.
	Can(op Op) error
	UpdateNodes(ctx context.Context, names []string, c NodeChange) error
	UpdateJob(ctx context.Context, id string, c JobChange) error
	Requeue(ctx context.Context, id string, hold bool) error
	Hold(ctx context.Context, id string) error
	Release(ctx context.Context, id string) error
	Suspend(ctx context.Context, id string) error
	Resume(ctx context.Context, id string) error
	// Signal sends a signal to the job; an empty signal cancels it. batch sends it to
	// the batch script too (scancel --full).
	Signal(ctx context.Context, id, signal string, batch bool) error
}

// Op is a kind of write, for Can.
type Op string

// The writes.
const (
	OpUpdateNode Op = "update-node"
	OpUpdateJob  Op = "update-job"
	OpRequeue    Op = "requeue"
	OpHold       Op = "hold"
	OpRelease    Op = "release"
	OpSuspend    Op = "suspend"
	OpSignal     Op = "signal"
	OpCancel     Op = "cancel"
)

// Hello is who and what answered.
type Hello struct {
	Version    string // "24.11.5"
	Native     string // ClusterName
	User       string // whom we act as
	Role       fleet.Role
	API        string // "v0.0.42"; empty for commands
	Offset     time.Duration
	Skew       time.Duration
	Accounting bool
	// Config holds the lines of slurm.conf that plans need: PreemptMode,
	// PreemptType, GraceTime, HealthCheckProgram, ReturnToService, MinJobAge,
	// SelectType, JobRequeue, KillWait.
	Config map[string]string
}

// NodeChange is what to change on a node. Empty fields stay as they are.
type NodeChange struct {
	State   string // DRAIN, RESUME, DOWN (scontrol(1), "State=")
	Reason  string // required with DRAIN and DOWN
	Comment string
}

// JobChange is what to change on a job. Empty and nil fields stay as they are.
type JobChange struct {
	StartNow  bool // StartTime=now: lifts the wait of about two minutes after a requeue
	Priority  *int64
	TimeLimit string   // scontrol(1) syntax, also +N and -N
	Partition string   // one or several, comma-separated
	Exclude   []string // node names; replaces the list. Non-nil and empty clears it
	Comment   *string
}

// JobDetail is one job record in full.
type JobDetail struct {
	fleet.Job
	Alloc   []NodeAlloc // the GPUs it holds on each node
	Command string      // its batch script, or the program that it runs
}

// NodeAlloc is what a job holds on one node.
type NodeAlloc struct {
	Node string
	GRES []fleet.GRES // with Indices: device minor numbers
}

// Ops lists every kind of write.
func Ops() []Op {
	return []Op{OpUpdateNode, OpUpdateJob, OpRequeue, OpHold, OpRelease, OpSuspend, OpSignal, OpCancel}
}
