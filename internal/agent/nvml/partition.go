//go:build cgo

package nvml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// computeProfile is a kind of compute instance in a GPU instance of some profile.
type computeProfile struct {
	name string
	ask  nvml.ComputeInstanceProfileInfo
}

// migState reads mode and instances. Its error is errUnsupported when the board or the
// driver has no MIG: the state says so.
func (g *gpu) migState() (fleet.MIGState, error) {
	var s fleet.MIGState
	var current, pending int
	err := g.do("nvmlDeviceGetMigMode", func() (ret nvml.Return) {
		current, pending, ret = g.handle.GetMigMode()
		return ret
	})
	if errors.Is(err, errUnsupported) || errors.Is(err, agent.ErrOldDriver) {
		return fleet.MIGState{Current: fleet.MIGUnsupported, Pending: fleet.MIGUnsupported}, nil
	}
	if err != nil {
		return s, err
	}
	s.Current, s.Pending = mode(current), mode(pending)
	profiles, err := g.profileList()
	if s.Current != fleet.MIGEnabled {
		return s, nil // a driver need not tell profiles while MIG is off
	}
	if err != nil {
		return s, err // instances that cannot be listed are not "no instances"
	}
	for i := range profiles {
		for _, p := range profiles[i].Placements {
			s.Slices = max(s.Slices, p.Start+p.Size)
		}
	}
	s.Instances, err = g.instances(profiles)
	return s, err
}

func mode(m int) fleet.MIGMode {
	if m == nvml.DEVICE_MIG_ENABLE {
		return fleet.MIGEnabled
	}
	return fleet.MIGDisabled
}

// instances lists GPU instances by placement.
func (g *gpu) instances(profiles []profile) ([]fleet.MIGInstance, error) {
	var list []fleet.MIGInstance
	for i := range profiles {
		p := &profiles[i]
		handles, err := ask(g.calls, "nvmlDeviceGetGpuInstances", func() ([]nvml.GpuInstance, nvml.Return) {
			return g.handle.GetGpuInstances(&p.ask)
		})
		if err != nil {
			return nil, err
		}
		for _, h := range handles {
			inst, err := g.instance(h, p)
			if errors.Is(err, agent.ErrNotFound) {
				continue // destroyed meanwhile
			}
			if err != nil {
				return nil, err
			}
			list = append(list, inst)
		}
	}
	slices.SortFunc(list, func(a, b fleet.MIGInstance) int { return cmp.Compare(a.Start, b.Start) })
	return list, g.nameDevices(list)
}

func (g *gpu) instance(h nvml.GpuInstance, p *profile) (fleet.MIGInstance, error) {
	info, err := ask(g.calls, "nvmlGpuInstanceGetInfo", h.GetInfo)
	if err != nil {
		return fleet.MIGInstance{}, err
	}
	inst := fleet.MIGInstance{
		ID: int(info.Id), Profile: p.Name, Compute: p.Compute, Bytes: p.Bytes,
		Start: int(info.Placement.Start), Size: int(info.Placement.Size),
	}
	kinds, err := g.computeProfiles(h, p)
	if err != nil {
		return inst, err
	}
	for i := range kinds {
		handles, err := ask(g.calls, "nvmlGpuInstanceGetComputeInstances", func() ([]nvml.ComputeInstance, nvml.Return) {
			return h.GetComputeInstances(&kinds[i].ask)
		})
		if err != nil {
			return inst, err
		}
		for _, c := range handles {
			info, err := ask(g.calls, "nvmlComputeInstanceGetInfo", c.GetInfo)
			if err != nil {
				return inst, err
			}
			inst.CIs = append(inst.CIs, fleet.ComputeInstance{
				ID: int(info.Id), Profile: kinds[i].name, Start: int(info.Placement.Start), Slices: int(kinds[i].ask.SliceCount),
			})
		}
	}
	slices.SortFunc(inst.CIs, func(a, b fleet.ComputeInstance) int { return cmp.Compare(a.ID, b.ID) })
	return inst, nil
}

// computeProfiles asks once for each profile of GPU instances.
func (g *gpu) computeProfiles(h nvml.GpuInstance, p *profile) ([]computeProfile, error) {
	if kinds, ok := g.compute[p.ask.Id]; ok {
		return kinds, nil
	}
	var kinds []computeProfile
	for n := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
		info, err := ask(g.calls, "nvmlGpuInstanceGetComputeInstanceProfileInfo", func() (nvml.ComputeInstanceProfileInfo, nvml.Return) {
			return h.GetComputeInstanceProfileInfo(n, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		})
		if errors.Is(err, errUnsupported) || isInvalid(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		name := p.Name
		if int(info.SliceCount) < p.Compute {
			name = fmt.Sprintf("%dc.%s", info.SliceCount, p.Name)
		}
		kinds = append(kinds, computeProfile{name, info})
	}
	g.compute[p.ask.Id] = kinds
	return kinds, nil
}

// nameDevices adds the UUIDs of the MIG devices, which compute instances make, and how
// much memory of them is used.
func (g *gpu) nameDevices(list []fleet.MIGInstance) error {
	if len(list) == 0 {
		return nil
	}
	most, err := ask(g.calls, "nvmlDeviceGetMaxMigDeviceCount", g.handle.GetMaxMigDeviceCount)
	if err != nil {
		return err
	}
	for i := range most {
		d, err := ask(g.calls, "nvmlDeviceGetMigDeviceHandleByIndex", func() (nvml.Device, nvml.Return) { return g.handle.GetMigDeviceHandleByIndex(i) })
		if errors.Is(err, agent.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := g.nameDevice(d, list); err != nil {
			return err
		}
	}
	return nil
}

func (g *gpu) nameDevice(d nvml.Device, list []fleet.MIGInstance) error {
	gi, err := ask(g.calls, "nvmlDeviceGetGpuInstanceId", d.GetGpuInstanceId)
	if err != nil {
		return err
	}
	ci, err := ask(g.calls, "nvmlDeviceGetComputeInstanceId", d.GetComputeInstanceId)
	if err != nil {
		return err
	}
	uuid, err := ask(g.calls, "nvmlDeviceGetUUID", d.GetUUID)
	if err != nil {
		return err
	}
	for i := range list {
		inst := &list[i]
		at := slices.IndexFunc(inst.CIs, func(c fleet.ComputeInstance) bool { return c.ID == ci })
		if inst.ID != gi || at < 0 {
			continue
		}
		inst.CIs[at].UUID = uuid
		if inst.UUID == "" {
			inst.UUID = uuid
			_, inst.MemUsed = memory(g.calls, d)
		}
	}
	return nil
}
