// Package agent is the node agent: it samples the GPUs of its host, watches the
// kernel log, finds out who holds what, repartitions devices on request, and serves
// all of that over standard input and output, a unix socket, HTTPS and Prometheus
// metrics.
//
//	nvml.Library (child process, a deadline for every call)
//	      │ Driver
//	   Sampler ── kernel log, cgroups, checks ──▶ wire frames ──▶ servers
//	      │
//	   mig.Engine, reset, health          one request at a time for each device
//
// A device that hangs or is lost is a finding; the others keep reporting. The agent
// lets go of the driver before a reset or a change of MIG mode.
//
// It imports agent/wire, agent/mig and fleet.
package agent

import (
	"context"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Driver is the GPU driver of this host. Its methods are safe for concurrent use.
// No method blocks longer than its context: a device that does not answer in time
// is reported as hanging, in the sample and by ErrHanging.
type Driver interface {
	// Sample reads every device. A device that cannot be read is in it, with its
	// Health and the identity that it last had. The error is about the driver as a
	// whole: ErrNoDriver, ErrOldDriver.
	Sample(ctx context.Context) (DriverSample, error)
	// Events delivers what the driver reports by itself until ctx ends; the channel is
	// then closed. The driver loses codes in a burst: read the kernel log as well.
	Events(ctx context.Context) (<-chan DriverEvent, error)
	// MIG returns the partitioning of one device.
	MIG(uuid string) mig.Device
	// Reset resets one device. All handles are let go of first.
	Reset(ctx context.Context, uuid string) error
	// Release closes every handle that this process holds; the next call opens anew.
	Release(ctx context.Context) error
	Close() error
}

// DriverSample is one reading of all devices.
type DriverSample struct {
	Driver, CUDA, NVML string
	GPUs               []fleet.GPU // without Owners and kernel-log faults
	At                 time.Time
	Calls              int // NVML calls made for it
}

// DriverEvent is one event of the driver.
type DriverEvent struct {
	UUID string
	Kind string // "xid", "recovery-action", "ecc-double", ...
	Code int
	At   time.Time
}
