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
	Serial string
	PCI    string // bus id as NVML prints it: 00000000:05:00.0
	// PCIDevice is the PCI device and vendor id as NVML has it, 0x233010DE; 0: not told.
	PCIDevice uint32 `json:",omitempty"`
	VBIOS     string
	Owners    []Owner `json:",omitzero"`
	// Health is how far the device answers; zero when no agent watches it.
	Health    GPUHealth    `json:",omitzero"`
	Temp      Reading      `json:",omitzero"` // degrees Celsius
	TempLimit Reading      `json:",omitzero"` // the device's own slowdown threshold, degrees Celsius
	Power     Reading      `json:",omitzero"` // watts
	PowerCap  Reading      `json:",omitzero"` // watts
	Util      Reading      `json:",omitzero"` // percent; not applicable in MIG mode
	MemUsed   Reading      `json:",omitzero"` // bytes
	MemTotal  Reading      `json:",omitzero"` // bytes
	SMClock   Reading      `json:",omitzero"` // MHz
	MIG       MIGState     `json:",omitzero"`
	Checks    []Check      `json:",omitzero"`
	Faults    []Fault      `json:",omitzero"`
	Processes []GPUProcess `json:",omitzero"`
	At        time.Time    `json:",omitzero"` // when an agent sampled it; zero: never
}

// ID is the UUID, else node and index.
func (g *GPU) ID() string {
	if g.UUID != "" {
		return g.UUID
	}
	return g.Node + ":" + strconv.Itoa(g.Index)
}

// GPUHealth is how far a device answers its driver.
type GPUHealth struct {
	State GPUState
	Since time.Time `json:",omitzero"` // of this state
	Why   string    `json:",omitzero"` // the driver's word: "GPU is lost", "nvmlDeviceGetTemperature has not returned"
}

// GPUState is whether a device answers.
type GPUState string

// The states of a device. Lost and Hanging devices keep the identity of the last
// sample that had one.
const (
	GPUUnwatched GPUState = ""        // no agent
	GPUAnswers   GPUState = "ok"      //
	GPULost      GPUState = "lost"    // NVML: GPU_IS_LOST, or it fell off the bus
	GPUHanging   GPUState = "hanging" // a call has not returned within its deadline
	GPUMissing   GPUState = "missing" // expected, and not enumerated
)

// MIGMode is a MIG mode as NVML tells it.
type MIGMode string

// The MIG modes.
const (
	MIGUnknown     MIGMode = ""
	MIGUnsupported MIGMode = "unsupported"
	MIGDisabled    MIGMode = "disabled"
	MIGEnabled     MIGMode = "enabled"
)

// MIGState is the partitioning of a device. When Current and Pending differ the
// device needs a reset or a reboot.
type MIGState struct {
	Current, Pending MIGMode
	Slices           int           // memory slices of the board, that placements count in; 0: not told
	Instances        []MIGInstance `json:",omitzero"`
}

// MIGInstance is one GPU instance with its compute instances. Ids mean nothing
// without the board.
type MIGInstance struct {
	ID      int    // GPU instance id
	Profile string // "3g.40gb", "1g.10gb+me"
	Start   int    // placement, in memory slices
	Size    int
	Compute int // compute slices
	Bytes   uint64
	MemUsed Reading           `json:",omitzero"` // bytes, of its MIG device
	UUID    string            // of its MIG device; empty without a compute instance
	CIs     []ComputeInstance `json:",omitzero"`
	Owners  []Owner           `json:",omitzero"`
}

// ComputeInstance is one compute instance of a GPU instance.
type ComputeInstance struct {
	ID      int
	Profile string // "1c.3g.40gb", or the GPU instance's own name when it takes all of it
	Start   int
	Slices  int
	UUID    string
}

// Check is one health check of a device or node, by the agent.
type Check struct {
	Name   string      // "ecc", "row-remap", "nvlink", "fabric", "pcie", "throttle", ...
	Result CheckResult //
	Text   string      // one line: what was read, against what
}

// CheckResult is a check's outcome. What does not apply to a product is never bad.
type CheckResult string

// The outcomes of a check.
const (
	CheckOK            CheckResult = "ok"
	CheckBad           CheckResult = "bad"
	CheckWarn          CheckResult = "warn"
	CheckNotApplicable CheckResult = "n/a"
	CheckUnreadable    CheckResult = "unreadable"
)

// Fault is something that happened to a device. It stays until a check proves it
// gone, or a person clears it.
type Fault struct {
	Kind    string    // "xid", "sxid", "fallen-off-bus", "recovery-action", "row-remap", ...
	Code    int       // the XID or SXID; 0 where there is none
	Text    string    // the log's own words
	First   time.Time `json:",omitzero"`
	Last    time.Time `json:",omitzero"`
	Count   int
	BootID  string
	PID     int       // the process the driver named; 0: none
	Process string    // its name
	Source  string    // "kmsg", "nvml-event", "nvml"
	PCI     string    `json:",omitempty"` // of the device, as GPU.PCI; for an SXID the switch's
	Cleared time.Time `json:",omitzero"`
	By      string    // who or what cleared it
}

// GPUProcess is a process that holds the device.
type GPUProcess struct {
	PID      int
	Name     string
	Bytes    Reading `json:",omitzero"` // of device memory
	Instance int     // GPU instance id; -1: the whole device
	Owner    Owner   `json:",omitzero"` // zero Job: not told, which is not "nobody"
}

// Owner is who holds a GPU, and how we know.
type Owner struct {
	Job    JobKey
	Name   string // the job's name
	User   string
	Source string // the source that says so
	// Proven is true when the join went through the UUID. By index alone it is false.
	Proven bool
	// Pod (its uid) and Container (its id) are what a node agent knows of a Kubernetes
	// owner. Of a Slurm owner it knows Job.ID alone, which is the job's RawID.
	Pod, Container string
	At             time.Time `json:",omitzero"` // when this was seen; zero: with the source's last answer
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
	At      time.Time `json:",omitzero"`
	Why     string    `json:",omitzero"` // the error, when Unreadable
}

// Read makes a known Reading.
func Read(v float64) Reading { return Reading{Value: v, Quality: Known} }

// Absent makes a Reading without a value.
func Absent(q Quality, why string) Reading { return Reading{Quality: q, Why: why} }

// AgentInfo is what a node agent says of itself and of its host.
type AgentInfo struct {
	Version  string // of gpuctl
	Host     string
	Machine  string // machine id (machine-id(5)); empty when not readable
	BootID   string
	Driver   string // "570.86.15"; empty without one
	CUDA     string
	NVML     string
	Expected int     // GPUs that should be there (PCI scan); -1: not told
	Present  int     // that NVML enumerates
	Checks   []Check `json:",omitzero"` // of the node: fabric manager, persistence, driver
	// Faults are those of no device that is listed: an NVSwitch's SXIDs, a device that
	// the driver does not enumerate.
	Faults []Fault `json:",omitzero"`
	// Boards are what the devices here can be cut into, one for each model in MIG mode or
	// able to be.
	Boards   []MIGBoard `json:",omitzero"`
	Problems []string   `json:",omitzero"` // what it cannot do here, and why: "/dev/kmsg: permission denied"
	At       time.Time  `json:",omitzero"`
	Via      string     // how it was reached; "nvidia-smi" is the poorer view
	// Status is how far this console reaches the agent: live, stale or down.
	Status SourceStatus `json:",omitzero"`
	// Gone says why the agent is not reached any more, as HostReport.Gone; the rest is
	// what it said last. Empty while it is reached.
	Gone string `json:",omitzero"`
}
