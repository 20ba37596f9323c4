package fleet

import (
	"strconv"
	"time"
)

// GPU is one device of a node. Its identity is the UUID; a scheduler that knows
// only indices (Slurm's IDX, a device minor number) leaves UUID empty, and what
// it says of owners is then "by index, unproven".
type GPU struct {
	UUID   string // empty until an agent tells
	Node   string
	Index  int // device index as its source counts
	Minor  int // /dev/nvidiaN; -1 when not told
	Model  string
	Owners []Owner
	Temp   Reading // degrees Celsius
	Power  Reading // watts
	Util   Reading // percent
	Mem    Reading // bytes used
}

// ID is the UUID, else node and index.
func (g *GPU) ID() string {
	if g.UUID != "" {
		return g.UUID
	}
	return g.Node + ":" + strconv.Itoa(g.Index)
}

// Owner is who holds a GPU, and how we know. An Owner whose Job has no ID says that
// the GPU is allocated and that nobody tells to whom.
type Owner struct {
	Job    JobKey
	Name   string // the job's name
	User   string
	Source string // the source that says so
	// Proven is true when the join went through the UUID. By index alone it is false.
	Proven bool
}

// Quality says whether a Reading has a value. Absent is never 0.
type Quality uint8

// The qualities of a Reading. The zero Reading is Unread.
const (
	Unread        Quality = iota // nobody asked yet
	Known                        // Value holds
	NotApplicable                // this device cannot have one (utilisation of a GPU in MIG mode)
	Unsupported                  // this driver or board does not tell
	Unreadable                   // asked, and the answer was an error
)

// Reading is a measured value that may be absent.
type Reading struct {
	Value   float64
	Quality Quality
	At      time.Time
	Why     string // the error, when Unreadable
}
