package fleet

import "time"

// Scheduler names the kind of software that runs a Cluster.
type Scheduler string

// The schedulers gpuctl speaks to.
const (
	Slurm      Scheduler = "slurm"
	Kubernetes Scheduler = "kubernetes"
)

// Cluster is one scheduler as we reach it: what it is, who we are there, and
// what it has beside nodes and jobs.
type Cluster struct {
	Name    string    // from the config; unique
	Kind    Scheduler // slurm or kubernetes
	Version string    // as the scheduler says it: "24.11.5"; empty until known
	// Native is the name the scheduler has for itself (Slurm's ClusterName).
	Native   string
	Identity Identity
	// Offset is the zone of the cluster's own clock, east of UTC, as far as it
	// could be told. Times in a Snapshot are absolute; this is for showing them.
	Offset time.Duration
	// Skew is the cluster's clock minus ours, beyond the zone.
	Skew         time.Duration
	Partitions   []Partition
	Reservations []Reservation
	QOS          []QOS
	Stats        *SchedulerStats // nil: not asked or not allowed
	Accounting   bool            // it keeps accounting; without, it has no QOS and no history
	// Notes says in words which of these could not be asked for, and why.
	Notes []string
}

// Role is how much an identity may do on a cluster.
type Role string

// The roles of Slurm's AdminLevel (sacctmgr(1)). An Operator may requeue, hold
// and cancel anyone's job but may not change a node; an Administrator may.
const (
	RoleUnknown       Role = "unknown"
	RoleUser          Role = "user"
	RoleOperator      Role = "operator"
	RoleAdministrator Role = "administrator"
)

// Identity is who we act as on a cluster.
type Identity struct {
	User string // the scheduler's user name
	Role Role
	Via  string // how we get there: "local", "ssh login1", "rest http://..."
}

// Partition is one queue of a cluster.
type Partition struct {
	Name         string
	State        string // UP, DOWN, DRAIN, INACTIVE (scontrol(1))
	Default      bool
	NodeList     string // folded host list
	MaxTime      Limit
	DefaultTime  Limit
	PriorityTier int
	PreemptMode  string        // OFF, CANCEL, REQUEUE, SUSPEND,GANG
	GraceTime    time.Duration // between the preemption signal and the kill
}

// Reservation keeps nodes for someone, or for maintenance, during a time.
type Reservation struct {
	Name       string
	NodeList   string // folded host list
	Start, End time.Time
	Flags      []string // MAINT, IGNORE_JOBS, ...
	Users      []string
	Accounts   []string
	State      string // ACTIVE or INACTIVE
}

// QOS is one quality of service with the parts that explain a pending job.
type QOS struct {
	Name             string
	Priority         int64
	GPUsPerUser      int // most GPUs one user may hold; -1: no limit
	GPUsPerGroup     int // most GPUs all its jobs together may hold; -1: no limit
	PreemptableQOS   []string
	GraceTime        time.Duration
	MaxJobsPerUser   int // -1: no limit
	MaxSubmitPerUser int // -1: no limit
}

// SchedulerStats is how the scheduler itself fares (sdiag(1)).
type SchedulerStats struct {
	At             time.Time
	ServerThreads  int           // RPC threads at work; near MAX_THREADS (256) is a stall
	AgentQueue     int           // messages waiting to be sent to nodes
	DBDQueue       int           // records waiting for slurmdbd
	CycleLast      time.Duration // main scheduler: last cycle
	CycleMean      time.Duration
	CycleMax       time.Duration
	QueueDepth     int // jobs the last main cycle saw
	BackfillLast   time.Duration
	BackfillMean   time.Duration
	BackfillDepth  int
	BackfillActive bool
	LastBackfill   time.Time
	JobsPending    int
	JobsRunning    int
	RPCs           []RPCCount // by message type, busiest first
}

// RPCCount is how often the scheduler was asked one thing since Since.
type RPCCount struct {
	Name  string // REQUEST_JOB_INFO, or a user's name
	Count int
	Mean  time.Duration
}
