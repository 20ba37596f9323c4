package fleet

import "time"

// SourceStatus is how far a source can be believed now.
type SourceStatus string

// The statuses of a source.
const (
	SourceConnecting SourceStatus = "connecting" // never answered yet
	SourceLive       SourceStatus = "live"
	SourceStale      SourceStatus = "stale" // last attempt failed or is overdue; data are old
	SourceDown       SourceStatus = "down"  // no success for more than two intervals
)

// SourceState is one connection as it stands.
type SourceState struct {
	Name        string
	Kind        string // "slurm", "kubernetes", "agent"
	Cluster     string
	Via         string // "local", "ssh login1", "rest unix:..."
	Status      SourceStatus
	LastSuccess time.Time
	LastError   string        // plain words; empty while live
	ErrorSince  time.Time     // first failure of the present row of failures
	Interval    time.Duration // between polls, as stretched at present
	Cost        time.Duration // of the last poll
	NotUnder    int           // records with something not understood
	Version     string
	NextTry     time.Time // when down
	// Reached of Wanted members answer, for a source that stands for many: node agents.
	Reached, Wanted int
}

// Age is how old the source's data are at now; 0 when it never succeeded.
func (s *SourceState) Age(now time.Time) time.Duration {
	if s.LastSuccess.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.LastSuccess))
}

// Usable reports whether actions may rely on the source.
func (s *SourceState) Usable() bool { return s.Status == SourceLive }

// Update is what a source says at one moment. Telemetry may be dropped: only the
// latest of a source counts, so a Full update must hold everything.
type Update struct {
	Source  string
	At      time.Time // when the source was asked, our clock
	Full    bool      // what is not in it is gone (of this source's cluster)
	Cluster *Cluster  // nil: unchanged
	Views   []View
	Jobs    []Job
	// Hosts are what node agents say, of whole nodes: a host in it replaces what was
	// known of it. A Full update of an agent source lists every host it reaches.
	Hosts    []HostReport
	NoJobs   bool // Full does not speak of jobs
	NoViews  bool // Full does not speak of views
	Interval time.Duration
	Cost     time.Duration
	NotUnder int
	Version  string
	// Reached and Wanted are as in SourceState. When none of those wanted is reached,
	// the update is no success, and Problem says why in plain words.
	Reached, Wanted int
	Problem         string
}

// HostReport is one node agent's word on its host.
type HostReport struct {
	Host  string // the node's name in the fleet
	Agent AgentInfo
	GPUs  []GPU
	// Gone says why the agent is not reached any more; empty while it is. What it
	// said before stays, with its age.
	Gone string
}

// Snapshot is everything known at one moment. It is immutable.
type Snapshot struct {
	Seq      uint64
	At       time.Time
	Clusters []Cluster     // by name
	Nodes    []*Node       // by name, natural order
	Jobs     []*Job        // newest first within a cluster
	Sources  []SourceState // in config order
	Timeline []Event       // newest last, bounded
	Findings []Finding     // worst first; filled by triage

	lookups
}
