package nvml

import (
	"context"
	"fmt"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// device is the partitioning of one GPU, a mig.Device.
type device struct {
	s    *Supervised
	uuid string
}

// ask finds the device and has the child do something with it.
func (d *device) ask(ctx context.Context, op op, args ...int) (*reply, error) {
	r, err := d.s.one(ctx, d.uuid, op, args)
	if err != nil {
		return nil, fmt.Errorf("GPU %s: %w", d.uuid, err)
	}
	return r, nil
}

func (s *Supervised) one(ctx context.Context, uuid string, op op, args []int) (*reply, error) {
	index, err := s.find(ctx, uuid)
	if err != nil {
		return nil, err
	}
	c, err := s.current()
	if err != nil {
		return nil, err
	}
	req := request{Op: op, Index: index, UUID: uuid}
	copy(req.Args[:], args)
	r, err := c.ask(ctx, req)
	if err != nil {
		return nil, err
	}
	return r, r.err()
}

// find returns the index of a device; one that hangs is not touched.
func (s *Supervised) find(ctx context.Context, uuid string) (int, error) {
	for range 2 {
		s.mu.Lock()
		index, ok := s.seen.indexOf(uuid)
		a := s.aside[index]
		s.mu.Unlock()
		if ok && a != nil {
			return 0, fmt.Errorf("%w: %s", agent.ErrHanging, a.why())
		}
		if ok {
			return index, nil
		}
		if _, err := s.Sample(ctx); err != nil {
			return 0, err
		}
	}
	return 0, agent.ErrNotFound
}

// State is the mode and every instance.
func (d *device) State(ctx context.Context) (fleet.MIGState, error) {
	r, err := d.ask(ctx, opMIGState)
	if err != nil {
		return fleet.MIGState{}, err
	}
	return r.MIG, nil
}

// Profiles are what the board can be cut into.
func (d *device) Profiles(ctx context.Context) ([]mig.Profile, error) {
	r, err := d.ask(ctx, opProfiles)
	if err != nil {
		return nil, err
	}
	return r.Profiles, nil
}

// Processes are those that hold the device.
func (d *device) Processes(ctx context.Context) ([]fleet.GPUProcess, error) {
	r, err := d.ask(ctx, opProcesses)
	if err != nil {
		return nil, err
	}
	return r.Processes, nil
}

// SetMode asks for a mode, which may stay pending.
func (d *device) SetMode(ctx context.Context, enabled bool) error {
	mode := 0
	if enabled {
		mode = 1
	}
	_, err := d.ask(ctx, opSetMode, mode)
	return err
}

// CreateInstance makes a GPU instance at a placement.
func (d *device) CreateInstance(ctx context.Context, profileID, start, size int) (int, error) {
	return d.made(ctx, opCreate, profileID, start, size)
}

// DestroyInstance removes a GPU instance.
func (d *device) DestroyInstance(ctx context.Context, instance int) error {
	_, err := d.ask(ctx, opDestroy, instance)
	return err
}

// CreateCompute makes a compute instance.
func (d *device) CreateCompute(ctx context.Context, instance, slices int) (int, error) {
	return d.made(ctx, opCreateCompute, instance, slices)
}

// DestroyCompute removes a compute instance.
func (d *device) DestroyCompute(ctx context.Context, instance, compute int) error {
	_, err := d.ask(ctx, opDestroyCompute, instance, compute)
	return err
}

func (d *device) made(ctx context.Context, op op, args ...int) (int, error) {
	r, err := d.ask(ctx, op, args...)
	if err != nil {
		return 0, err
	}
	return r.N, nil
}
