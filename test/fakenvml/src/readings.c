/* What a device measures. */
#include "fakenvml.h"

#include <string.h>

static nvmlReturn_t reading(nvmlDevice_t device, const char *key, long long otherwise, unsigned int *out)
{
	long long n;
	nvmlReturn_t r = state_reading(device.handle->index, key, otherwise, &n);

	*out = n;
	return r;
}

API nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *temp)
{
	(void)sensor;
	ENTER(device.handle->index);
	return reading(device, "temperature", 40, temp);
}

API nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, nvmlTemperatureThresholds_t type, unsigned int *temp)
{
	ENTER(device.handle->index);
	int limit = state_board(device.handle->index)->slowdown;
	if (limit == 0)
		return NVML_ERROR_NOT_SUPPORTED;
	if (type == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN)
		return reading(device, "slowdown", limit, temp);
	if (type == NVML_TEMPERATURE_THRESHOLD_SHUTDOWN)
		return reading(device, "shutdown", limit + 3, temp);
	return NVML_ERROR_NOT_SUPPORTED;
}

NEW nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t *margin)
{
	long long n;

	ENTER(device.handle->index);
	if (margin->version != nvmlMarginTemperature_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	nvmlReturn_t r = state_reading(device.handle->index, "margin", 45, &n);
	margin->marginTemperature = n;
	return r;
}

API nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power)
{
	ENTER(device.handle->index);
	return reading(device, "power", 95000, power);
}

API nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit)
{
	ENTER(device.handle->index);
	return reading(device, "power_limit", state_board(device.handle->index)->power * 1000LL, limit);
}

API nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int *limit)
{
	ENTER(device.handle->index);
	return reading(device, "power_limit", state_board(device.handle->index)->power * 1000LL, limit);
}

API nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *u)
{
	ENTER(device.handle->index);
	if (mig_enabled(device.handle->index))
		return NVML_ERROR_NOT_SUPPORTED; /* nvml.h: not with MIG on */
	nvmlReturn_t r = reading(device, "memory_util", 0, &u->memory);
	return r != NVML_SUCCESS ? r : reading(device, "util", 0, &u->gpu);
}

/* What other monitors (nvtop) cannot do without; gpuctl asks none of it. */
static nvmlReturn_t engine(nvmlDevice_t device, unsigned int *utilization, unsigned int *period)
{
	*utilization = 0;
	*period = 167000; /* microseconds */
	return mig_enabled(device.handle->index) ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned int *utilization, unsigned int *period)
{
	ENTER(device.handle->index);
	return engine(device, utilization, period);
}

API nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned int *utilization, unsigned int *period)
{
	ENTER(device.handle->index);
	return engine(device, utilization, period);
}

static nvmlReturn_t memory(nvmlDevice_t device, unsigned long long *total, unsigned long long *used)
{
	long long mib;
	nvmlReturn_t r = state_reading(device.handle->index, "memory_total", state_board(device.handle->index)->mib, &mib);

	if (r != NVML_SUCCESS)
		return r;
	*total = device.handle->gi < 0 ? (unsigned long long)mib << 20 : (unsigned long long)mig_bytes(device.handle->index, device.handle->gi);
	*used = process_bytes(device.handle->index, device.handle->gi);
	if (device.handle->gi < 0)
		*used += (unsigned long long)state_number(device.handle->index, "memory_used", 600) << 20;
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *m)
{
	ENTER(device.handle->index);
	nvmlReturn_t r = memory(device, &m->total, &m->used);
	m->free = m->total - m->used;
	return r;
}

NEW nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *m)
{
	ENTER(device.handle->index);
	if (m->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	nvmlReturn_t r = memory(device, &m->total, &m->used);
	m->reserved = 0;
	m->free = m->total - m->used;
	return r;
}

API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
	ENTER(device.handle->index);
	return reading(device, type == NVML_CLOCK_MEM ? "memory_clock" : "sm_clock", type == NVML_CLOCK_MEM ? 2619 : 345, clock);
}

API nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
	ENTER(device.handle->index);
	*clock = type == NVML_CLOCK_MEM ? 2619 : 1980;
	return NVML_SUCCESS;
}

static nvmlReturn_t reasons(nvmlDevice_t device, unsigned long long *out)
{
	long long n;
	nvmlReturn_t r = state_reading(device.handle->index, "clock_reasons", 1, &n);

	*out = n;
	return r;
}

API nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *out)
{
	ENTER(device.handle->index);
	return reasons(device, out);
}

NEW nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *out)
{
	ENTER(device.handle->index);
	return reasons(device, out);
}

API nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned int *speed)
{
	(void)speed;
	ENTER(device.handle->index);
	return NVML_ERROR_NOT_SUPPORTED;
}

API nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int *gen)
{
	ENTER(device.handle->index);
	return reading(device, "pcie_gen", 5, gen);
}

API nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int *gen)
{
	ENTER(device.handle->index);
	return reading(device, "pcie_gen_max", 5, gen);
}

API nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int *width)
{
	ENTER(device.handle->index);
	return reading(device, "pcie_width", 16, width);
}

API nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int *width)
{
	ENTER(device.handle->index);
	return reading(device, "pcie_width_max", 16, width);
}

API nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned int *value)
{
	ENTER(device.handle->index);
	return reading(device, "pcie_replay", 0, value);
}

API nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned int *value)
{
	(void)counter;
	ENTER(device.handle->index);
	return reading(device, "pcie_throughput", 0, value);
}
