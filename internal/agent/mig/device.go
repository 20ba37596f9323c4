// Package mig turns a wanted MIG layout into the least change of a device, makes the
// change, reads it back, and restores the old layout when anything fails.
//
// Everything is computed from what the driver reports of the board: profiles are
// matched by slices and placements, never by the memory in their names.
//
// It imports fleet and agent/wire.
package mig

import (
	"context"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Device is the partitioning of one GPU, as the driver offers it (NVML).
type Device interface {
	// State is the mode and every instance.
	State(ctx context.Context) (fleet.MIGState, error)
	// Profiles are what this board can be cut into. It may be asked in any mode that
	// the driver answers in.
	Profiles(ctx context.Context) ([]Profile, error)
	// Processes are those that hold the device or one of its instances.
	Processes(ctx context.Context) ([]fleet.GPUProcess, error)
	// SetMode asks for a mode. The driver answers success although the mode is only
	// pending: read State to know.
	SetMode(ctx context.Context, enabled bool) error
	// CreateInstance makes a GPU instance at a placement and returns its id.
	CreateInstance(ctx context.Context, profileID, start, size int) (int, error)
	DestroyInstance(ctx context.Context, instance int) error
	// CreateCompute makes a compute instance of so many slices (0: all) in a GPU instance.
	CreateCompute(ctx context.Context, instance, slices int) (int, error)
	DestroyCompute(ctx context.Context, instance, compute int) error
}

// Profile is one kind of GPU instance of a board.
type Profile struct {
	ID         int    // as nvidia-smi mig -lgip prints it, and later calls take
	Name       string // "3g.40gb", "1g.10gb+me", "1g.20gb"
	Compute    int    // compute slices
	Memory     int    // memory slices, the unit of placements
	Bytes      uint64
	Max        int         // most instances of it at once
	Placements []Placement // where it may start
	Media      bool        // a "+me" variant: at most one on a device
}

// Placement is a place for an instance, in memory slices.
type Placement struct{ Start, Size int }
