/* GPU instances: made, listed and destroyed. */
#include "mig.h"

#include <string.h>

static struct nvmlGpuInstance_st handles[MAX_GPUS][MAX_GIS];

static nvmlGpuInstance_t handle(int index, int id)
{
	handles[index][id] = (struct nvmlGpuInstance_st){index, id};
	return (nvmlGpuInstance_t){&handles[index][id]};
}

/* Ids count through the tree of halves: 0 the whole, 1 and 2 its halves, 3 to 6 the
 * quarters, 7 to 14 the eighths. The guide: 4g at 0 is 1, 3g at 4 is 2, 2g at 4 is 5,
 * 1g at 6 is 13. */
static int id_at(int units, int start, int size)
{
	return units / size - 1 + start / size;
}

static bool media(const struct profile *p) { return strstr(p->name, "+me") != NULL; }

/* fits checks a place against what is there: no overlap, slices, counts, one +me. */
static bool fits(int index, const struct mig *m, const struct profile *p, int start)
{
	int slices = p->slices, same = 0;

	for (int g = 0; g < MAX_GIS; g++) {
		const struct gi *gi = &m->gis[g];
		if (!gi->used)
			continue;
		const struct profile *q = profile_with_id(index, gi->profile);
		slices += q->slices;
		same += q == p;
		if (start < gi->start + gi->size && gi->start < start + p->size)
			return false;
		if (media(p) && media(q))
			return false;
	}
	return slices <= state_board(index)->slices && same < p->max;
}

static bool may_start(const struct profile *p, int start)
{
	for (int i = 0; p->starts[i] >= 0; i++)
		if (p->starts[i] == start)
			return true;
	return false;
}

/* create makes an instance at start, or where the driver puts it when start is negative. */
static nvmlReturn_t create(int index, unsigned profile, int start, nvmlGpuInstance_t *out)
{
	struct mig m;
	const struct profile *p = profile_with_id(index, profile);

	if (p == NULL)
		return NVML_ERROR_INVALID_ARGUMENT;
	int lock = mig_open(index, &m);
	if (m.current == 0)
		return mig_close(lock, index, NULL, NVML_ERROR_NOT_SUPPORTED);
	for (int i = 0; start < 0 && p->starts[i] >= 0; i++)
		if (fits(index, &m, p, p->starts[i]))
			start = p->starts[i];
	if (start < 0 || !fits(index, &m, p, start))
		return mig_close(lock, index, NULL, NVML_ERROR_INSUFFICIENT_RESOURCES);
	int id = id_at(state_board(index)->units, start, p->size);
	m.gis[id] = (struct gi){true, p->id, start, p->size, {{0}}};
	*out = handle(index, id);
	return mig_close(lock, index, &m, NVML_SUCCESS);
}

NEW nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned int profile, nvmlGpuInstance_t *out)
{
	ENTER(device.handle->index);
	return create(device.handle->index, profile, -1, out);
}

NEW nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned int profile,
	const nvmlGpuInstancePlacement_t *at, nvmlGpuInstance_t *out)
{
	ENTER(device.handle->index);
	const struct profile *p = profile_with_id(device.handle->index, profile);
	if (p == NULL || at->size != (unsigned)p->size || !may_start(p, at->start))
		return NVML_ERROR_INVALID_ARGUMENT;
	return create(device.handle->index, profile, at->start, out);
}

NEW nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profile, nvmlGpuInstance_t *out, unsigned int *count)
{
	struct mig m;
	unsigned n = 0;

	ENTER(device.handle->index);
	if (profile_with_id(device.handle->index, profile) == NULL)
		return NVML_ERROR_INVALID_ARGUMENT;
	int lock = mig_open(device.handle->index, &m);
	if (m.current == 0)
		return mig_close(lock, device.handle->index, NULL, NVML_ERROR_NOT_SUPPORTED);
	for (int g = 0; g < MAX_GIS; g++)
		if (m.gis[g].used && m.gis[g].profile == (int)profile)
			out[n++] = handle(device.handle->index, g);
	*count = n;
	return mig_close(lock, device.handle->index, NULL, NVML_SUCCESS);
}

NEW nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t *out)
{
	struct mig m;

	ENTER(device.handle->index);
	int lock = mig_open(device.handle->index, &m);
	if (id >= MAX_GIS || !m.gis[id].used)
		return mig_close(lock, device.handle->index, NULL, NVML_ERROR_NOT_FOUND);
	*out = handle(device.handle->index, id);
	return mig_close(lock, device.handle->index, NULL, NVML_SUCCESS);
}

NEW nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t gi, nvmlGpuInstanceInfo_t *info)
{
	struct mig m;
	struct nvmlGpuInstance_st *h = gi.handle;

	ENTER(h->index);
	int lock = mig_open(h->index, &m);
	if (!m.gis[h->id].used)
		return mig_close(lock, h->index, NULL, NVML_ERROR_NOT_FOUND);
	info->device = device_at(h->index, -1, -1);
	info->id = h->id;
	info->profileId = m.gis[h->id].profile;
	info->placement = (nvmlGpuInstancePlacement_t){m.gis[h->id].start, m.gis[h->id].size};
	return mig_close(lock, h->index, NULL, NVML_SUCCESS);
}

NEW nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t gi)
{
	struct mig m;
	struct nvmlGpuInstance_st *h = gi.handle;

	ENTER(h->index);
	int lock = mig_open(h->index, &m);
	if (!m.gis[h->id].used)
		return mig_close(lock, h->index, NULL, NVML_ERROR_NOT_FOUND);
	for (int c = 0; c < MAX_CIS; c++)
		if (m.gis[h->id].cis[c].used)
			return mig_close(lock, h->index, NULL, NVML_ERROR_IN_USE);
	if (process_on(h->index, h->id, -1))
		return mig_close(lock, h->index, NULL, NVML_ERROR_IN_USE);
	m.gis[h->id].used = false;
	return mig_close(lock, h->index, &m, NVML_SUCCESS);
}
