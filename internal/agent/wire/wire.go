// Package wire is what a node agent and its clients say to each other: JSON, one
// frame a line, over whatever carries bytes (standard input and output of an SSH
// channel, a unix socket, HTTPS).
//
// The agent speaks first: a Hello frame, then a full Sample, then Samples that carry
// only what changed, at least one every Hello.Interval so that silence means loss.
// A client may send Requests at any time; each gets Progress frames and one Reply
// with its id. A reader refuses lines longer than MaxFrame, and what it does not
// understand: a peer that sends garbage is cut off, and nothing is done.
//
// It imports fleet.
package wire

import (
	"encoding/json"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Version is of the protocol. A client understands agents of its own version and
// older; an agent refuses requests of a newer one.
const Version = 1

// MaxFrame is the longest line either side reads, in bytes.
const MaxFrame = 4 << 20

// Over HTTPS a client sends GET StreamPath with "Connection: Upgrade" and "Upgrade:
// StreamProtocol", over HTTP/1.1; after the answer 101 the connection carries frames.
const (
	StreamPath     = "/v1/stream"
	StreamProtocol = "gpuctl-agent"
)

// Frame is one line. Exactly one of its parts is set.
type Frame struct {
	Hello    *Hello    `json:"hello,omitempty"`
	Sample   *Sample   `json:"sample,omitempty"`
	Request  *Request  `json:"request,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
	Reply    *Reply    `json:"reply,omitempty"`
}

// Hello opens the agent's side.
type Hello struct {
	Version  int           `json:"version"`
	Agent    string        `json:"agent"` // gpuctl's version
	Host     string        `json:"host"`
	Interval time.Duration `json:"interval"` // longest silence between samples
	Ops      []Op          `json:"ops"`      // what this client may request here
}

// Sample is the state of the node. Without Full, GPUs holds only devices that
// changed (each whole), and Node is nil when unchanged. A device or node that differs
// in times of reading alone is unchanged: what answers was read again at At.
type Sample struct {
	Seq  uint64           `json:"seq"`
	At   time.Time        `json:"at"`
	Full bool             `json:"full,omitempty"`
	Node *fleet.AgentInfo `json:"node,omitempty"`
	GPUs []fleet.GPU      `json:"gpus,omitempty"`
	Gone []string         `json:"gone,omitempty"` // ids of devices that are no longer listed
}

// Op is a kind of request.
type Op string

// The requests an agent takes.
const (
	OpMIGPlan    Op = "mig-plan"    // args MIGArgs; result MIGPlan
	OpMIGApply   Op = "mig-apply"   // args MIGArgs; result MIGPlan
	OpGPUReset   Op = "gpu-reset"   // args GPUArgs
	OpClearFault Op = "clear-fault" // args ClearArgs
	OpHealth     Op = "health"      // args GPUArgs; result []fleet.Check
	OpSample     Op = "sample"      // a full Sample now
)

// Request asks the agent to do something. The same ID sent again gets the first
// one's outcome: it is never done twice.
type Request struct {
	Version int             `json:"version"`
	ID      string          `json:"id"`
	Op      Op              `json:"op"`
	Who     string          `json:"who"`    // the person, for the node's audit log
	Reason  string          `json:"reason"` // why
	Args    json.RawMessage `json:"args,omitempty"`
}

// GPUArgs names a device.
type GPUArgs struct {
	UUID string `json:"uuid"`
}

// ClearArgs names a fault that a person declares dealt with.
type ClearArgs struct {
	UUID string `json:"uuid"`
	Kind string `json:"kind"`
	Code int    `json:"code"`
}

// MIGArgs is a wanted layout for one device.
type MIGArgs struct {
	UUID string `json:"uuid"`
	// Layout is what the device shall be, as mig.ParseLayout reads it:
	// "3g.40gb,2g.20gb,1g.10gb:2", with placements "3g.40gb@0", "off" for MIG
	// disabled, "on" for MIG enabled and empty.
	Layout string `json:"layout"`
	// Force goes on although processes hold instances that must go. It never ends
	// them: the driver refuses what is in use.
	Force bool `json:"force,omitempty"`
}

// MIGPlan is what a layout takes on one device.
type MIGPlan struct {
	UUID     string              `json:"uuid"`
	Before   fleet.MIGState      `json:"before"`
	After    []fleet.MIGInstance `json:"after"` // as wanted, with placements
	Keep     []fleet.MIGInstance `json:"keep"`
	Destroy  []fleet.MIGInstance `json:"destroy"`
	Create   []fleet.MIGInstance `json:"create"`
	Mode     fleet.MIGMode       `json:"mode,omitempty"`    // mode change needed
	Holders  []fleet.GPUProcess  `json:"holders,omitempty"` // of what must go
	Blockers []string            `json:"blockers,omitempty"`
	Warnings []string            `json:"warnings,omitempty"`
}

// Progress tells how far a request is.
type Progress struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Reply ends a request.
type Reply struct {
	ID     string          `json:"id"`
	Error  string          `json:"error,omitempty"` // empty: done, and read back
	Code   Code            `json:"code,omitempty"`  // class of the error
	Result json.RawMessage `json:"result,omitempty"`
}

// Code classes the error of a Reply.
type Code string

// The classes of errors.
const (
	CodeRefused   Code = "refused"   // not done: in use, not drained, not allowed, invalid
	CodeFailed    Code = "failed"    // tried; the state before was restored
	CodeLeft      Code = "left"      // tried; something else is left, as the text says
	CodeBusy      Code = "busy"      // another request on this device is under way
	CodeMalformed Code = "malformed" // the request made no sense
)
