//go:build cgo

package nvml

import (
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// carryOut does what a request asks of this device.
func (g *gpu) carryOut(req *request) reply {
	var r reply
	err := g.own(req.UUID)
	if err != nil {
		return reply{Err: failed(err)}
	}
	switch req.Op {
	case opMIGState:
		r.MIG, err = g.migState()
	case opProfiles:
		r.Profiles, err = g.offered()
	case opProcesses:
		r.Processes, err = g.holders()
	case opSetMode:
		err = g.setMode(req.Args[0])
	case opCreate:
		r.N, err = g.create(req.Args[0], req.Args[1], req.Args[2])
	case opDestroy:
		err = g.destroy(req.Args[0])
	case opCreateCompute:
		r.N, err = g.createCompute(req.Args[0], req.Args[1])
	case opDestroyCompute:
		err = g.destroyCompute(req.Args[0], req.Args[1])
	default:
		err = fmt.Errorf("unknown request %q", req.Op)
	}
	g.tick = 0 // the next sample reads everything
	r.Err = failed(err)
	return r
}

func (g *gpu) offered() ([]mig.Profile, error) {
	profiles, err := g.profileList()
	list := make([]mig.Profile, 0, len(profiles))
	for i := range profiles {
		list = append(list, profiles[i].Profile)
	}
	return list, err
}

func (g *gpu) holders() ([]fleet.GPUProcess, error) {
	processes, err := g.computeProcesses()
	if err != nil {
		return nil, err
	}
	return g.named(append(processes, g.otherProcesses()...)), nil
}

// setMode succeeds although the mode may be pending only: the caller reads it back. The
// driver may have reset the device for it, so it is opened anew.
func (g *gpu) setMode(mode int) error {
	err := g.do("nvmlDeviceSetMigMode", func() nvml.Return {
		_, ret := g.handle.SetMigMode(mode)
		return ret
	})
	g.handle, g.compute = nil, map[uint32][]computeProfile{}
	return err
}

func (g *gpu) create(id, start, size int) (int, error) {
	profiles, err := g.profileList()
	if err != nil {
		return 0, err
	}
	at := slices.IndexFunc(profiles, func(p profile) bool { return p.ID == id })
	if at < 0 {
		return 0, fmt.Errorf("%w: GPU instance profile %d", agent.ErrNotFound, id)
	}
	place := nvml.GpuInstancePlacement{Start: uint32(start), Size: uint32(size)}
	h, err := ask(g.calls, "nvmlDeviceCreateGpuInstanceWithPlacement", func() (nvml.GpuInstance, nvml.Return) {
		return g.handle.CreateGpuInstanceWithPlacement(&profiles[at].ask, &place)
	})
	if err != nil {
		return 0, err
	}
	info, err := ask(g.calls, "nvmlGpuInstanceGetInfo", h.GetInfo)
	return int(info.Id), err
}

func (g *gpu) byID(id int) (nvml.GpuInstance, error) {
	h, err := ask(g.calls, "nvmlDeviceGetGpuInstanceById", func() (nvml.GpuInstance, nvml.Return) {
		return g.handle.GetGpuInstanceById(id)
	})
	if err != nil {
		return nil, fmt.Errorf("GPU instance %d: %w", id, err)
	}
	return h, nil
}

func (g *gpu) destroy(id int) error {
	h, err := g.byID(id)
	if err != nil {
		return err
	}
	return g.do("nvmlGpuInstanceDestroy", h.Destroy)
}

// createCompute makes a compute instance of so many slices; 0 is all.
func (g *gpu) createCompute(id, slicesWanted int) (int, error) {
	h, err := g.byID(id)
	if err != nil {
		return 0, err
	}
	kind, err := g.computeKind(h, slicesWanted)
	if err != nil {
		return 0, err
	}
	c, err := ask(g.calls, "nvmlGpuInstanceCreateComputeInstance", func() (nvml.ComputeInstance, nvml.Return) {
		return h.CreateComputeInstance(&kind.ask)
	})
	if err != nil {
		return 0, err
	}
	info, err := ask(g.calls, "nvmlComputeInstanceGetInfo", c.GetInfo)
	return int(info.Id), err
}

// computeKind finds the profile of a compute instance by its slices.
func (g *gpu) computeKind(h nvml.GpuInstance, wanted int) (computeProfile, error) {
	info, err := ask(g.calls, "nvmlGpuInstanceGetInfo", h.GetInfo)
	if err != nil {
		return computeProfile{}, err
	}
	profiles, err := g.profileList()
	if err != nil {
		return computeProfile{}, err
	}
	at := slices.IndexFunc(profiles, func(p profile) bool { return p.ask.Id == info.ProfileId })
	if at < 0 {
		return computeProfile{}, fmt.Errorf("%w: GPU instance profile %d", agent.ErrNotFound, info.ProfileId)
	}
	if wanted == 0 {
		wanted = profiles[at].Compute
	}
	kinds, err := g.computeProfiles(h, &profiles[at])
	if err != nil {
		return computeProfile{}, err
	}
	for _, k := range kinds {
		if int(k.ask.SliceCount) == wanted {
			return k, nil
		}
	}
	return computeProfile{}, fmt.Errorf("%w: compute instance of %d slices in %s", agent.ErrNotFound, wanted, profiles[at].Name)
}

func (g *gpu) destroyCompute(id, compute int) error {
	h, err := g.byID(id)
	if err != nil {
		return err
	}
	c, err := ask(g.calls, "nvmlGpuInstanceGetComputeInstanceById", func() (nvml.ComputeInstance, nvml.Return) {
		return h.GetComputeInstanceById(compute)
	})
	if err != nil {
		return fmt.Errorf("compute instance %d of GPU instance %d: %w", compute, id, err)
	}
	return g.do("nvmlComputeInstanceDestroy", c.Destroy)
}
