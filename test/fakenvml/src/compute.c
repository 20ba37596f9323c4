/* Compute instances, and the MIG devices that they make. */
#include "mig.h"

#include <stdio.h>
#include <string.h>

static struct nvmlComputeInstance_st handles[MAX_GPUS][MAX_GIS][MAX_CIS];

/* Slices of NVML_COMPUTE_INSTANCE_PROFILE_*; the number is the profile's id as well. */
static const int slices_of[] = {1, 2, 3, 4, 7};
#define PROFILES (sizeof slices_of / sizeof *slices_of)

static nvmlComputeInstance_t handle(int index, int gi, int id)
{
	handles[index][gi][id] = (struct nvmlComputeInstance_st){index, gi, id};
	return (nvmlComputeInstance_t){&handles[index][gi][id]};
}

/* parent returns the GPU instance's profile, NULL when it is gone. */
static const struct profile *parent(nvmlGpuInstance_t gi, struct mig *m)
{
	struct nvmlGpuInstance_st *h = gi.handle;

	mig_read(h->index, m);
	return m->gis[h->id].used ? profile_with_id(h->index, m->gis[h->id].profile) : NULL;
}

static nvmlReturn_t check(nvmlGpuInstance_t gi, unsigned number, unsigned engine, const struct profile **p)
{
	struct mig m;

	if (number >= NVML_COMPUTE_INSTANCE_PROFILE_COUNT || engine != 0)
		return NVML_ERROR_INVALID_ARGUMENT;
	*p = parent(gi, &m);
	if (*p == NULL)
		return NVML_ERROR_NOT_FOUND;
	return number < PROFILES && slices_of[number] <= (*p)->slices ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

NEW nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t gi, unsigned int number,
	unsigned int engine, nvmlComputeInstanceProfileInfo_t *out)
{
	const struct profile *p;

	ENTER(gi.handle->index);
	nvmlReturn_t r = check(gi, number, engine, &p);
	if (r != NVML_SUCCESS)
		return r;
	memset(out, 0, sizeof *out);
	out->id = number;
	out->sliceCount = slices_of[number];
	out->instanceCount = p->slices / slices_of[number];
	return NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvmlGpuInstance_t gi, unsigned int number,
	unsigned int engine, nvmlComputeInstanceProfileInfo_v2_t *out)
{
	const struct profile *p;

	ENTER(gi.handle->index);
	nvmlReturn_t r = check(gi, number, engine, &p);
	if (r != NVML_SUCCESS)
		return r;
	if (out->version != nvmlComputeInstanceProfileInfo_v2 && out->version != nvmlComputeInstanceProfileInfo_v3)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	out->id = number;
	out->sliceCount = slices_of[number];
	out->instanceCount = p->slices / slices_of[number];
	if (slices_of[number] < p->slices)
		snprintf(out->name, sizeof out->name, "MIG %dc.%s", slices_of[number], p->name);
	else
		snprintf(out->name, sizeof out->name, "MIG %s", p->name);
	return NVML_SUCCESS;
}

/* room returns the first run of free compute slices, -1 when there is none. */
static int room(const struct gi *gi, int have, int want)
{
	for (int at = 0; at + want <= have; at++) {
		bool free = true;
		for (int c = 0; c < MAX_CIS; c++)
			if (gi->cis[c].used && at < gi->cis[c].start + gi->cis[c].slices && gi->cis[c].start < at + want)
				free = false;
		if (free)
			return at;
	}
	return -1;
}

NEW nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t gi, unsigned int number, nvmlComputeInstance_t *out)
{
	struct mig m;
	struct nvmlGpuInstance_st *h = gi.handle;
	int id = 0;

	ENTER(h->index);
	int lock = mig_open(h->index, &m);
	struct gi *g = &m.gis[h->id];
	if (!g->used)
		return mig_close(lock, h->index, NULL, NVML_ERROR_NOT_FOUND);
	const struct profile *p = profile_with_id(h->index, g->profile);
	if (number >= PROFILES || slices_of[number] > p->slices)
		return mig_close(lock, h->index, NULL, NVML_ERROR_INVALID_ARGUMENT);
	int at = room(g, p->slices, slices_of[number]);
	while (id < MAX_CIS && g->cis[id].used)
		id++;
	if (at < 0 || id == MAX_CIS)
		return mig_close(lock, h->index, NULL, NVML_ERROR_INSUFFICIENT_RESOURCES);
	g->cis[id] = (struct ci){true, number, at, slices_of[number]};
	*out = handle(h->index, h->id, id);
	return mig_close(lock, h->index, &m, NVML_SUCCESS);
}

NEW nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t gi, unsigned int profile, nvmlComputeInstance_t *out, unsigned int *count)
{
	struct mig m;
	struct nvmlGpuInstance_st *h = gi.handle;
	unsigned n = 0;

	ENTER(h->index);
	if (parent(gi, &m) == NULL)
		return NVML_ERROR_NOT_FOUND;
	for (int c = 0; c < MAX_CIS; c++)
		if (m.gis[h->id].cis[c].used && m.gis[h->id].cis[c].profile == (int)profile)
			out[n++] = handle(h->index, h->id, c);
	*count = n;
	return NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t gi, unsigned int id, nvmlComputeInstance_t *out)
{
	struct mig m;
	struct nvmlGpuInstance_st *h = gi.handle;

	ENTER(h->index);
	if (parent(gi, &m) == NULL || id >= MAX_CIS || !m.gis[h->id].cis[id].used)
		return NVML_ERROR_NOT_FOUND;
	*out = handle(h->index, h->id, id);
	return NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t ci, nvmlComputeInstanceInfo_t *info)
{
	struct mig m;
	struct nvmlComputeInstance_st *h = ci.handle;

	ENTER(h->index);
	mig_read(h->index, &m);
	const struct ci *c = &m.gis[h->gi].cis[h->id];
	if (!m.gis[h->gi].used || !c->used)
		return NVML_ERROR_NOT_FOUND;
	info->device = device_at(h->index, -1, -1);
	info->id = h->id;
	info->profileId = c->profile;
	info->placement = (nvmlComputeInstancePlacement_t){c->start, c->slices};
	return NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t ci)
{
	struct mig m;
	struct nvmlComputeInstance_st *h = ci.handle;

	ENTER(h->index);
	int lock = mig_open(h->index, &m);
	if (!m.gis[h->gi].used || !m.gis[h->gi].cis[h->id].used)
		return mig_close(lock, h->index, NULL, NVML_ERROR_NOT_FOUND);
	if (process_on(h->index, h->gi, h->id))
		return mig_close(lock, h->index, NULL, NVML_ERROR_IN_USE);
	m.gis[h->gi].cis[h->id].used = false;
	return mig_close(lock, h->index, &m, NVML_SUCCESS);
}

NEW nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
	ENTER(device.handle->index);
	*count = state_board(device.handle->index)->slices;
	return NVML_SUCCESS;
}

/* MIG devices are numbered in the order of GPU and compute instance ids. */
NEW nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int nth, nvmlDevice_t *out)
{
	struct mig m;

	ENTER(device.handle->index);
	mig_read(device.handle->index, &m);
	for (int g = 0; g < MAX_GIS; g++)
		for (int c = 0; c < MAX_CIS; c++)
			if (m.gis[g].used && m.gis[g].cis[c].used && nth-- == 0) {
				*out = device_at(device.handle->index, g, c);
				return NVML_SUCCESS;
			}
	return NVML_ERROR_NOT_FOUND;
}

NEW nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is)
{
	ENTER(device.handle->index);
	*is = device.handle->gi >= 0;
	return NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
	ENTER(device.handle->index);
	if (device.handle->gi < 0)
		return NVML_ERROR_NOT_SUPPORTED;
	*id = device.handle->gi;
	return NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
	ENTER(device.handle->index);
	if (device.handle->gi < 0)
		return NVML_ERROR_NOT_SUPPORTED;
	*id = device.handle->ci;
	return NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t device, nvmlDevice_t *out)
{
	ENTER(device.handle->index);
	*out = device_at(device.handle->index, -1, -1);
	return NVML_SUCCESS;
}
