package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/faults"
	"github.com/gpuctl/gpuctl/internal/agent/pci"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// readDriver takes a sample of all devices. While somebody has the driver to himself
// there is none.
func (s *Sampler) readDriver(ctx context.Context) error {
	select {
	case s.driver <- struct{}{}:
		defer func() { <-s.driver }()
	default:
		return nil
	}
	if s.answered() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(s.opts.Interval, time.Second))
		defer cancel()
	}
	sample, err := s.opts.Driver.Sample(ctx)
	if err == nil {
		err = oldDriver(sample.Driver)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found.err = err
	if err == nil {
		s.found.sample, s.found.since = sample, time.Now()
	}
	return err
}

// oldestDriver is the first that tells what health is judged by (row remapping, MIG).
const oldestDriver = 450

// oldDriver refuses a driver that cannot tell whether a device is well: "nothing is
// wrong" would be a guess. A version that is not understood passes.
func oldDriver(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldestDriver {
		return fmt.Errorf("%w: it is %s, and gpuctl needs %d or newer", ErrOldDriver, version, oldestDriver)
	}
	return nil
}

// answered reports that the driver has answered before: then its devices are awake.
func (s *Sampler) answered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.found.since.IsZero()
}

// readMachine looks at what rarely changes.
func (s *Sampler) readMachine(context.Context) error {
	devices, err := pci.Scan(s.opts.Host.Root)
	s.mu.Lock()
	gpus := s.found.sample.GPUs
	s.mu.Unlock()
	manager := s.manager.Check(slices.ContainsFunc(devices, pci.Device.IsSwitch), waitsForFabric(gpus))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found.manager = manager
	if err == nil {
		s.found.devices, s.found.scanned = devices, true
	}
	return err
}

// waitsForFabric reports a device that belongs to a fabric and has not joined it.
func waitsForFabric(gpus []fleet.GPU) bool {
	return slices.ContainsFunc(gpus, func(g fleet.GPU) bool {
		return slices.ContainsFunc(g.Checks, func(c fleet.Check) bool {
			return c.Name == fleet.CheckFabric && (c.Result == fleet.CheckBad || c.Result == fleet.CheckWarn)
		})
	})
}

// readOwners finds out whose the processes of the last sample are. Owners that
// Kubernetes alone knows (the kubelet's list of devices and pods) would be added here.
func (s *Sampler) readOwners(context.Context) error {
	s.mu.Lock()
	gpus, known := s.found.sample.GPUs, s.found.owners
	s.mu.Unlock()
	now := time.Now()
	owners := map[int]fleet.Owner{}
	for i := range gpus {
		for _, p := range gpus[i].Processes {
			if _, ok := owners[p.PID]; ok {
				continue
			}
			// A process that was here a moment ago is the same: its number is not
			// given away that fast.
			o, ok := known[p.PID]
			if !ok || now.Sub(o.At) >= slowly {
				o = s.opts.Host.Owner(p.PID, s.opts.AsRoot)
				o.At = now
			}
			owners[p.PID] = o
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found.owners = owners
	return nil
}

// judge compares the faults with the last sample, if it is a new one.
func (s *Sampler) judge() {
	s.mu.Lock()
	sample, since := s.found.sample, s.found.since
	trusted := s.found.err == nil && !since.IsZero() && s.paused == ""
	s.mu.Unlock()
	if trusted {
		s.book.Judge(faults.Evidence{At: since, GPUs: sample.GPUs, Running: s.opts.Host.Running})
	}
}

func lostRecords(n uint64) error {
	return fmt.Errorf("%d records were overwritten before they were read", n)
}
