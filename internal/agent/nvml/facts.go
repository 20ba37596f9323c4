//go:build cgo

package nvml

import (
	"encoding/binary"
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Link and fabric limits of nvml.h.
const maxLinks = 36

// field says where the value of a field of nvmlDeviceGetFieldValues goes.
type field struct {
	id uint32
	to *fleet.Reading
}

func (f *facts) fields() []field {
	return []field{
		{nvml.FI_DEV_ECC_CURRENT, &f.eccMode},
		{nvml.FI_DEV_ECC_SBE_VOL_TOTAL, &f.volatileCorrected},
		{nvml.FI_DEV_ECC_DBE_VOL_TOTAL, &f.volatileBad},
		{nvml.FI_DEV_ECC_SBE_AGG_TOTAL, &f.aggregateCorrected},
		{nvml.FI_DEV_ECC_DBE_AGG_TOTAL, &f.aggregateBad},
		{nvml.FI_DEV_RETIRED_SBE, &f.retiredCorrected},
		{nvml.FI_DEV_RETIRED_DBE, &f.retiredBad},
		{nvml.FI_DEV_RETIRED_PENDING, &f.retiredPending},
		{nvml.FI_DEV_REMAPPED_COR, &f.remappedCorrected},
		{nvml.FI_DEV_REMAPPED_UNC, &f.remappedBad},
		{nvml.FI_DEV_REMAPPED_PENDING, &f.remapPending},
		{nvml.FI_DEV_REMAPPED_FAILURE, &f.remapFailure},
		{nvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, &f.linkCRC},
		{nvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, &f.linkReplay},
		{nvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, &f.linkRecovery},
		{nvml.FI_DEV_PCIE_REPLAY_COUNTER, &f.pcieReplay},
		{nvml.FI_DEV_GET_GPU_RECOVERY_ACTION, &f.recovery},
	}
}

// readFacts reads what the checks of every sample need, with one call for all counters.
func (g *gpu) readFacts() facts {
	f := g.slow.facts
	f.mig = len(g.slow.mig.Instances) > 0
	fields := f.fields()
	values := make([]nvml.FieldValue, len(fields))
	for i := range fields {
		values[i].FieldId = fields[i].id
	}
	err := g.do("nvmlDeviceGetFieldValues", func() nvml.Return { return g.handle.GetFieldValues(values) })
	for i := range fields {
		*fields[i].to = fieldReading(&values[i], err)
	}
	f.reasons = g.clockReasons()
	return f
}

func fieldReading(v *nvml.FieldValue, err error) fleet.Reading {
	if err == nil && v.NvmlReturn != uint32(nvml.SUCCESS) {
		err = &callError{"nvmlDeviceGetFieldValues", nvml.Return(v.NvmlReturn)}
	}
	if err != nil {
		return reading(0, err)
	}
	bits := binary.NativeEndian.Uint64(v.Value[:])
	switch nvml.ValueType(v.ValueType) {
	case nvml.VALUE_TYPE_DOUBLE:
		return fleet.Read(math.Float64frombits(bits))
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return fleet.Read(float64(int64(bits)))
	case nvml.VALUE_TYPE_SIGNED_INT:
		return fleet.Read(float64(int32(binary.NativeEndian.Uint32(v.Value[:]))))
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return fleet.Read(float64(binary.NativeEndian.Uint32(v.Value[:])))
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		return fleet.Read(float64(binary.NativeEndian.Uint16(v.Value[:])))
	}
	return fleet.Read(float64(bits))
}

// clockReasons asks under the call's new name, or under its old one.
func (g *gpu) clockReasons() fleet.Reading {
	if g.symbols.has("nvmlDeviceGetCurrentClocksEventReasons") {
		return number(g.calls, "nvmlDeviceGetCurrentClocksEventReasons", g.handle.GetCurrentClocksEventReasons)
	}
	return number(g.calls, "nvmlDeviceGetCurrentClocksThrottleReasons", g.handle.GetCurrentClocksThrottleReasons)
}

func (g *gpu) readSlowFacts() {
	f := &g.slow.facts
	f.persistence = number(g.calls, "nvmlDeviceGetPersistenceMode", g.handle.GetPersistenceMode)
	g.readLink(f)
	if !known(f.widthMax) {
		f.widthMax = number(g.calls, "nvmlDeviceGetMaxPcieLinkWidth", g.handle.GetMaxPcieLinkWidth)
		f.genMax = number(g.calls, "nvmlDeviceGetMaxPcieLinkGeneration", g.handle.GetMaxPcieLinkGeneration)
	}
	f.links = g.links()
	f.fabric = g.fabric()
}

func (g *gpu) readLink(f *facts) {
	f.width = number(g.calls, "nvmlDeviceGetCurrPcieLinkWidth", g.handle.GetCurrPcieLinkWidth)
	f.gen = number(g.calls, "nvmlDeviceGetCurrPcieLinkGeneration", g.handle.GetCurrPcieLinkGeneration)
}

// margin is what newer devices tell instead of a threshold.
func (g *gpu) margin() fleet.Reading {
	if known(g.identity.TempLimit) {
		return fleet.Reading{}
	}
	m, err := ask(g.calls, "nvmlDeviceGetMarginTemperature", g.handle.GetMarginTemperature)
	return reading(float64(m.MarginTemperature), err)
}

// links asks link by link until the driver says that there is no such one.
func (g *gpu) links() []bool {
	var up []bool
	for i := range maxLinks {
		state, err := ask(g.calls, "nvmlDeviceGetNvLinkState", func() (nvml.EnableState, nvml.Return) { return g.handle.GetNvLinkState(i) })
		if err != nil {
			break
		}
		up = append(up, state == nvml.FEATURE_ENABLED)
	}
	return up
}

// fabric asks with health, or without where the driver is older.
func (g *gpu) fabric() fabric {
	if g.symbols.has("nvmlDeviceGetGpuFabricInfoV") {
		v, err := ask(g.calls, "nvmlDeviceGetGpuFabricInfoV", g.handle.GetGpuFabricInfoV().V2)
		bandwidth := v.HealthMask & 3
		return fabric{reading(float64(v.State), err), int(v.Status), bandwidth == nvml.GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_TRUE}
	}
	v, err := ask(g.calls, "nvmlDeviceGetGpuFabricInfo", g.handle.GetGpuFabricInfo)
	return fabric{state: reading(float64(v.State), err), status: int(v.Status)}
}
