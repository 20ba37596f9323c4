/* What tells whether a device is well. */
#include "fakenvml.h"

#include <stdlib.h>
#include <string.h>

/* The fields of nvmlDeviceGetFieldValues that are told. */
static const struct field { unsigned id; const char *key; bool ampere, young; } fields[] = {
	{NVML_FI_DEV_ECC_CURRENT, "ecc_mode", false, false},
	{NVML_FI_DEV_ECC_SBE_VOL_TOTAL, "ecc_volatile_corrected", false, false},
	{NVML_FI_DEV_ECC_DBE_VOL_TOTAL, "ecc_volatile_uncorrected", false, false},
	{NVML_FI_DEV_ECC_SBE_AGG_TOTAL, "ecc_aggregate_corrected", false, false},
	{NVML_FI_DEV_ECC_DBE_AGG_TOTAL, "ecc_aggregate_uncorrected", false, false},
	{NVML_FI_DEV_RETIRED_SBE, "retired_corrected", false, false},
	{NVML_FI_DEV_RETIRED_DBE, "retired_uncorrected", false, false},
	{NVML_FI_DEV_RETIRED_PENDING, "retired_pending", false, false},
	{NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, "nvlink_crc", false, false},
	{NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, "nvlink_replay", false, false},
	{NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, "nvlink_recovery", false, false},
	{NVML_FI_DEV_PCIE_REPLAY_COUNTER, "pcie_replay", false, false},
	{NVML_FI_DEV_REMAPPED_COR, "remapped_corrected", true, true},
	{NVML_FI_DEV_REMAPPED_UNC, "remapped_uncorrected", true, true},
	{NVML_FI_DEV_REMAPPED_PENDING, "remapped_pending", true, true},
	{NVML_FI_DEV_REMAPPED_FAILURE, "remapped_failure", true, true},
	{NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, "recovery", false, true},
};

static bool retires(const struct field *f) { return strncmp(f->key, "retired", 7) == 0; }

static nvmlReturn_t field_value(nvmlDevice_t device, const struct board *b, bool partitioned, const struct field *f, long long *out)
{
	if (IS_OLD && f->young)
		return NVML_ERROR_NOT_SUPPORTED;
	if (f->ampere && (b->slices == 0 || partitioned))
		return NVML_ERROR_NOT_SUPPORTED; /* nvml.h: not while MIG instances are active */
	if (retires(f) && b->slices > 0)
		return NVML_ERROR_NOT_SUPPORTED; /* Ampere and later remap rows instead */
	if (strncmp(f->key, "nvlink", 6) == 0 && b->nvlinks == 0)
		return NVML_ERROR_NOT_SUPPORTED;
	return state_reading(device.handle->index, f->key, strcmp(f->key, "ecc_mode") == 0, out);
}

API nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	ENTER(device.handle->index);
	const struct board *b = state_board(device.handle->index);
	bool partitioned = mig_instances(device.handle->index) > 0;
	for (int i = 0; i < count; i++) {
		values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
		for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
			long long n = 0;
			if (fields[k].id != values[i].fieldId)
				continue;
			values[i].nvmlReturn = field_value(device, b, partitioned, &fields[k], &n);
			values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
			values[i].value.ullVal = n;
		}
	}
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)
{
	ENTER(device.handle->index);
	*current = *pending = state_number(device.handle->index, "ecc_mode", 1);
	return NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected, unsigned int *uncorrected,
	unsigned int *pending, unsigned int *failure)
{
	ENTER(device.handle->index);
	if (state_board(device.handle->index)->slices == 0 || mig_instances(device.handle->index) > 0)
		return NVML_ERROR_NOT_SUPPORTED;
	*corrected = state_number(device.handle->index, "remapped_corrected", 0);
	*uncorrected = state_number(device.handle->index, "remapped_uncorrected", 0);
	*pending = state_number(device.handle->index, "remapped_pending", 0);
	*failure = state_number(device.handle->index, "remapped_failure", 0);
	return NVML_SUCCESS;
}

/* down reports whether the link is in the list "nvlink_down 3,7", or the word all. */
static bool down(int index, unsigned link)
{
	char list[256] = "", *p = list;

	state_text(index, "nvlink_down", list, sizeof list);
	if (strcmp(list, "all") == 0)
		return true;
	while (*p != 0) {
		char *end;
		unsigned n = strtoul(p, &end, 10);
		if (end == p)
			return false;
		if (n == link)
			return true;
		p = *end == ',' ? end + 1 : end;
	}
	return false;
}

API nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active)
{
	ENTER(device.handle->index);
	int links = state_number(device.handle->index, "nvlinks", state_board(device.handle->index)->nvlinks);
	if (links == 0)
		return NVML_ERROR_NOT_SUPPORTED;
	if (link >= (unsigned)links)
		return NVML_ERROR_INVALID_ARGUMENT;
	*active = !down(device.handle->index, link);
	return NVML_SUCCESS;
}

/* fabric_state reads "fabric completed|in_progress|not_started|not_supported". */
static unsigned char fabric_state(int index)
{
	static const char *words[] = {"not_supported", "not_started", "in_progress", "completed"};
	char value[32] = "not_supported";

	state_text(index, "fabric", value, sizeof value);
	for (unsigned char i = 0; i < 4; i++)
		if (strcmp(words[i], value) == 0)
			return i;
	return NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
}

NEW nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
	ENTER(device.handle->index);
	memset(info, 0, sizeof *info);
	info->state = fabric_state(device.handle->index);
	info->status = state_number(device.handle->index, "fabric_status", 0);
	return NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
	nvmlGpuFabricInfo_v2_t *v2 = (nvmlGpuFabricInfo_v2_t *)info;

	ENTER(device.handle->index);
	if (info->version != nvmlGpuFabricInfo_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	v2->state = fabric_state(device.handle->index);
	v2->status = state_number(device.handle->index, "fabric_status", 0);
	v2->healthMask = state_number(device.handle->index, "fabric_health", NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_FALSE);
	return NVML_SUCCESS;
}
