/* What a device is: handles and identity. */
#include "fakenvml.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct nvmlDevice_st devices[MAX_GPUS], mig[MAX_GPUS][MAX_GIS][MAX_CIS];

nvmlDevice_t device_at(int index, int gi, int ci)
{
	struct nvmlDevice_st *d = gi < 0 ? &devices[index] : &mig[index][gi][ci];

	d->index = index;
	d->gi = gi;
	d->ci = ci;
	return (nvmlDevice_t){d};
}

API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	ENTER(-1);
	*count = state_count();
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetCount(unsigned int *count) { return nvmlDeviceGetCount_v2(count); }

API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	ENTER(index);
	if (index >= (unsigned)state_count())
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = device_at(index, -1, -1);
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	return nvmlDeviceGetHandleByIndex_v2(index, device);
}

static nvmlReturn_t by_text(const char *key, const char *text, nvmlDevice_t *device)
{
	char value[128];

	for (int i = 0; i < state_count(); i++) {
		if (state_text(i, key, value, sizeof value) && strcmp(value, text) == 0)
			return nvmlDeviceGetHandleByIndex_v2(i, device);
	}
	return NVML_ERROR_NOT_FOUND;
}

API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	ENTER(-1);
	return by_text("uuid", uuid, device);
}

API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device)
{
	ENTER(-1);
	return by_text("pci", id, device);
}

API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *id, nvmlDevice_t *device)
{
	return nvmlDeviceGetHandleByPciBusId_v2(id, device);
}

API nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	ENTER(device.handle->index);
	*index = device.handle->index;
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	char value[96];

	ENTER(device.handle->index);
	if (!state_text(device.handle->index, "name", value, sizeof value))
		strcpy(value, state_board(device.handle->index)->name);
	return put_text(name, length, value);
}

static nvmlReturn_t text_of(nvmlDevice_t device, const char *key, char *out, unsigned size)
{
	char value[128];

	if (!state_text(device.handle->index, key, value, sizeof value) || strcmp(value, "unsupported") == 0)
		return NVML_ERROR_NOT_SUPPORTED;
	return put_text(out, size, value);
}

API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	char value[128];

	ENTER(device.handle->index);
	if (device.handle->gi < 0)
		return text_of(device, "uuid", uuid, length);
	if (!mig_uuid(device.handle->index, device.handle->gi, device.handle->ci, value, sizeof value))
		return NVML_ERROR_NOT_FOUND;
	return put_text(uuid, length, value);
}

API nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length)
{
	ENTER(device.handle->index);
	return text_of(device, "serial", serial, length);
}

API nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *version, unsigned int length)
{
	ENTER(device.handle->index);
	return text_of(device, "vbios", version, length);
}

API nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
	long long n;

	ENTER(device.handle->index);
	nvmlReturn_t r = state_reading(device.handle->index, "minor", device.handle->index, &n);
	*minor = n;
	return r;
}

API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	char value[64] = "00000000:00:00.0";

	ENTER(device.handle->index);
	memset(pci, 0, sizeof *pci);
	state_text(device.handle->index, "pci", value, sizeof value);
	sscanf(value, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
	pci->pciDeviceId = state_board(device.handle->index)->pci;
	snprintf(pci->busId, sizeof pci->busId, "%.31s", value);
	snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%.12s", value + 4);
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci) { return nvmlDeviceGetPciInfo_v3(device, pci); }
API nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci) { return nvmlDeviceGetPciInfo_v3(device, pci); }

API nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
	long long n;

	ENTER(device.handle->index);
	nvmlReturn_t r = state_reading(device.handle->index, "persistence", 1, &n);
	*mode = n;
	return r;
}
