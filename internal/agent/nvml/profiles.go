//go:build cgo

package nvml

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
)

// profile is a kind of GPU instance, with what the driver wants to be asked by.
type profile struct {
	mig.Profile
	ask nvml.GpuInstanceProfileInfo
}

// profileList asks once, until the mode is changed.
func (g *gpu) profileList() ([]profile, error) {
	if g.profiles != nil {
		return g.profiles, nil
	}
	var list []profile
	for n := range nvml.GPU_INSTANCE_PROFILE_COUNT {
		p, err := g.profile(n)
		if errors.Is(err, errUnsupported) || isInvalid(err) {
			continue // not on this board, or a number that this driver does not know yet
		}
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	g.profiles = list
	return list, nil
}

func isInvalid(err error) bool {
	var e *callError
	return errors.As(err, &e) && e.ret == nvml.ERROR_INVALID_ARGUMENT
}

// profile asks for profile n and where it may be.
func (g *gpu) profile(n int) (profile, error) {
	p, err := g.profileInfo(n)
	if err != nil {
		return p, err
	}
	places, err := ask(g.calls, "nvmlDeviceGetGpuInstancePossiblePlacements", func() ([]nvml.GpuInstancePlacement, nvml.Return) {
		return g.handle.GetGpuInstancePossiblePlacements(&p.ask)
	})
	if err != nil {
		return p, err
	}
	for _, at := range places {
		p.Placements = append(p.Placements, mig.Placement{Start: int(at.Start), Size: int(at.Size)})
		p.Memory = int(at.Size)
	}
	if p.Name == "" {
		p.Name = g.profileName(p)
	}
	return p, nil
}

// profileInfo prefers the call that tells names.
func (g *gpu) profileInfo(n int) (profile, error) {
	var p profile
	if g.symbols.has("nvmlDeviceGetGpuInstanceProfileInfoV") {
		v, err := ask(g.calls, "nvmlDeviceGetGpuInstanceProfileInfoV", g.handle.GetGpuInstanceProfileInfoV(n).V2)
		if err != nil {
			return p, err
		}
		p.ask = nvml.GpuInstanceProfileInfo{Id: v.Id, SliceCount: v.SliceCount, InstanceCount: v.InstanceCount, MemorySizeMB: v.MemorySizeMB}
		p.Name = strings.TrimPrefix(cText(v.Name[:]), "MIG ")
	} else {
		v, err := ask(g.calls, "nvmlDeviceGetGpuInstanceProfileInfo", func() (nvml.GpuInstanceProfileInfo, nvml.Return) {
			return g.handle.GetGpuInstanceProfileInfo(n)
		})
		if err != nil {
			return p, err
		}
		p.ask = v
	}
	p.ID, p.Compute, p.Max = int(p.ask.Id), int(p.ask.SliceCount), int(p.ask.InstanceCount)
	p.Bytes = p.ask.MemorySizeMB << 20
	p.Media = media(n)
	return p, nil
}

// media reports the profiles of which a device has one: NVML_GPU_INSTANCE_PROFILE_*
// with all or some of the media engines.
func media(n int) bool {
	switch n {
	case nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV1, nvml.GPU_INSTANCE_PROFILE_2_SLICE_REV1,
		nvml.GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME, nvml.GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME:
		return true
	}
	return false
}

// profileName computes the name as NVIDIA's tools do for drivers that do not tell it:
// the share of the memory in eighths, times the memory in GB.
func (g *gpu) profileName(p profile) string {
	total, _ := memory(g.calls, g.handle)
	gb := 0.0
	if known(total) && total.Value > 0 {
		share := math.Ceil(float64(p.Bytes)/total.Value*8) / 8
		gb = math.Round(share * math.Ceil(total.Value/(1<<30)))
	}
	name := fmt.Sprintf("%dg.%.0fgb", p.Compute, gb)
	if p.Media {
		name += "+me"
	}
	return name
}
