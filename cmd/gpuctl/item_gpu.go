package main

import "time"

// gpuItem is a device. Readings without a value are null, and Absent says why: it
// names them with "n/a", "unsupported", the driver's error, or "not read".
type gpuItem struct {
	ID     string   `json:"id"`
	UUID   string   `json:"uuid,omitempty"`
	Node   string   `json:"node"`
	Index  int      `json:"index"`
	Model  string   `json:"model"`
	Owners []string `json:"owners"`
	Proven bool     `json:"owner_proven"`

	Use        string     `json:"use"` // free, held, unknown
	Users      []string   `json:"users"`
	State      *string    `json:"state"` // null: no agent watches it
	StateSince *time.Time `json:"state_since"`
	StateWhy   string     `json:"state_why,omitempty"`
	PCI        *string    `json:"pci"`
	Minor      *int       `json:"minor"`
	Serial     *string    `json:"serial"`
	VBIOS      *string    `json:"vbios"`
	ReadAt     *time.Time `json:"read_at"`

	Temperature *float64          `json:"temperature_celsius"`
	TempLimit   *float64          `json:"temperature_limit_celsius"`
	Power       *float64          `json:"power_watts"`
	PowerLimit  *float64          `json:"power_limit_watts"`
	Utilisation *float64          `json:"utilization_percent"`
	MemUsed     *float64          `json:"memory_used_bytes"`
	MemTotal    *float64          `json:"memory_total_bytes"`
	SMClock     *float64          `json:"sm_clock_mhz"`
	Absent      map[string]string `json:"absent,omitempty"`

	MIG       *migState     `json:"mig"` // null: not told
	Checks    []checkItem   `json:"checks"`
	Faults    []faultItem   `json:"faults"`
	Processes []processItem `json:"processes"`
	Findings  []string      `json:"findings"`
}

type migState struct {
	Current   string         `json:"current"`
	Pending   string         `json:"pending"`
	Slices    int            `json:"memory_slices"`
	Instances []instanceItem `json:"instances"`
}

type instanceItem struct {
	ID        int           `json:"id"`
	Profile   string        `json:"profile"`
	Placement placement     `json:"placement"`
	Compute   int           `json:"compute_slices"`
	Bytes     uint64        `json:"memory_bytes"`
	Used      *float64      `json:"memory_used_bytes"`
	UUID      *string       `json:"uuid"`
	CIs       []computeItem `json:"compute_instances"`
	Owners    []string      `json:"owners"`
	Users     []string      `json:"users"`
	Use       string        `json:"use"`
}

type placement struct {
	Start int `json:"start"`
	Size  int `json:"size"`
}

type computeItem struct {
	ID      int    `json:"id"`
	Profile string `json:"profile"`
	Start   int    `json:"start"`
	Slices  int    `json:"slices"`
	UUID    string `json:"uuid,omitempty"`
}

type checkItem struct {
	Name   string `json:"name"`
	Result string `json:"result"`
	Text   string `json:"text"`
}

type faultItem struct {
	Kind    string     `json:"kind"`
	Code    *int       `json:"code"`
	Text    string     `json:"text"`
	First   *time.Time `json:"first"`
	Last    *time.Time `json:"last"`
	Count   int        `json:"count"`
	PID     *int       `json:"pid"`
	Process string     `json:"process,omitempty"`
	Source  string     `json:"source"`
	BootID  string     `json:"boot_id,omitempty"`
	Cleared *time.Time `json:"cleared"`
	By      string     `json:"cleared_by,omitempty"`
}

type processItem struct {
	PID      int      `json:"pid"`
	Name     string   `json:"name"`
	Bytes    *float64 `json:"memory_bytes"`
	Instance *int     `json:"mig_instance"`
	Owner    *string  `json:"owner"` // null: not known, which is not "nobody"
	User     string   `json:"user,omitempty"`
}

type agentItem struct {
	Status   string      `json:"status"`
	Version  string      `json:"version"`
	Via      string      `json:"via"`
	Driver   *string     `json:"driver"`
	CUDA     *string     `json:"cuda"`
	NVML     *string     `json:"nvml"`
	Expected *int        `json:"gpus_expected"`
	Present  int         `json:"gpus_present"`
	At       *time.Time  `json:"at"`
	Gone     string      `json:"gone,omitempty"`
	Problems []string    `json:"problems"`
	Checks   []checkItem `json:"checks"`
	Faults   []faultItem `json:"faults"`
}
