/* Multi-Instance GPU: the file "mig0" of device 0 and so on, shared by all processes
 * under the lock of "mig.lock". Lines: "mode CURRENT PENDING", "gi ID PROFILE START SIZE",
 * "ci GI ID PROFILE START SLICES". */
#include "mig.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* mig_read takes what was last written; a file is renamed into place, never half there. */
void mig_read(int index, struct mig *m)
{
	char path[4096], name[32], line[128];
	int id, gi, a, b, c;

	memset(m, 0, sizeof *m);
	snprintf(name, sizeof name, "mig%d", index);
	FILE *f = fopen(state_path(name, path, sizeof path), "re");
	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		if (sscanf(line, "mode %d %d", &m->current, &m->pending) == 2)
			continue;
		if (sscanf(line, "gi %d %d %d %d", &id, &a, &b, &c) == 4 && id >= 0 && id < MAX_GIS)
			m->gis[id] = (struct gi){true, a, b, c, {{0}}};
		if (sscanf(line, "ci %d %d %d %d %d", &gi, &id, &a, &b, &c) == 5 && gi >= 0 && gi < MAX_GIS && id >= 0 && id < MAX_CIS)
			m->gis[gi].cis[id] = (struct ci){true, a, b, c};
	}
	if (f != NULL)
		fclose(f);
}

int mig_open(int index, struct mig *m)
{
	char path[4096];
	int lock = open(state_path("mig.lock", path, sizeof path), O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	flock(lock, LOCK_EX);
	mig_read(index, m);
	return lock;
}

static void save(int index, const struct mig *m)
{
	char path[4096], temp[4096], name[32];

	snprintf(name, sizeof name, "mig%d", index);
	state_path(name, path, sizeof path);
	snprintf(temp, sizeof temp, "%.4000s.new", path);
	FILE *f = fopen(temp, "w");
	if (f == NULL)
		return;
	fprintf(f, "mode %d %d\n", m->current, m->pending);
	for (int g = 0; g < MAX_GIS; g++) {
		const struct gi *gi = &m->gis[g];
		if (!gi->used)
			continue;
		fprintf(f, "gi %d %d %d %d\n", g, gi->profile, gi->start, gi->size);
		for (int c = 0; c < MAX_CIS; c++)
			if (gi->cis[c].used)
				fprintf(f, "ci %d %d %d %d %d\n", g, c, gi->cis[c].profile, gi->cis[c].start, gi->cis[c].slices);
	}
	fclose(f);
	rename(temp, path);
}

nvmlReturn_t mig_close(int lock, int index, const struct mig *changed, nvmlReturn_t r)
{
	if (changed != NULL && r == NVML_SUCCESS)
		save(index, changed);
	close(lock);
	return r;
}

bool mig_enabled(int index)
{
	struct mig m;

	mig_read(index, &m);
	return m.current == 1;
}

int mig_instances(int index)
{
	struct mig m;
	int n = 0;

	mig_read(index, &m);
	for (int g = 0; g < MAX_GIS; g++)
		n += m.gis[g].used;
	return n;
}

/* mig_uuid makes the same UUID from the same device, GPU instance and compute instance. */
bool mig_uuid(int index, int gi, int ci, char *out, size_t size)
{
	char uuid[128] = "";
	struct mig m;
	unsigned long long h = 1469598103934665603ULL;

	mig_read(index, &m);
	if (!m.gis[gi].used || !m.gis[gi].cis[ci].used)
		return false;
	state_text(index, "uuid", uuid, sizeof uuid);
	for (const char *p = uuid; *p; p++)
		h = (h ^ (unsigned char)*p) * 1099511628211ULL;
	h = (h ^ (unsigned)(gi * 64 + ci)) * 1099511628211ULL;
	snprintf(out, size, "MIG-%08x-%04x-5%03x-8%03x-%08x%04x", (unsigned)(h >> 32), (unsigned)(h >> 16) & 0xffff,
		(unsigned)h & 0xfff, (unsigned)(h >> 8) & 0xfff, (unsigned)(h * 31), (unsigned)(gi * 256 + ci));
	return true;
}

const struct profile *profile_with_id(int index, int id)
{
	for (const struct profile *p = state_board(index)->profiles; p != NULL && p->name != NULL; p++)
		if (p->id == id)
			return p;
	return NULL;
}

long long mig_bytes(int index, int gi)
{
	struct mig m;

	mig_read(index, &m);
	const struct profile *p = m.gis[gi].used ? profile_with_id(index, m.gis[gi].profile) : NULL;
	return p == NULL ? 0 : p->mib << 20;
}

NEW nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	struct mig m;

	ENTER(device.handle->index);
	if (state_board(device.handle->index)->slices == 0)
		return NVML_ERROR_NOT_SUPPORTED;
	mig_read(device.handle->index, &m);
	*current = m.current;
	*pending = m.pending;
	return NVML_SUCCESS;
}

/* As documented: success, while activation may have failed and the mode is only pending.
 * "mig_activation reset_required" in the device's file stands for a virtual machine. */
NEW nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned int mode, nvmlReturn_t *activation)
{
	struct mig m;
	char word[32];
	int index = device.handle->index;

	ENTER(index);
	if (state_board(index)->slices == 0)
		return NVML_ERROR_NOT_SUPPORTED;
	if (mode > 1)
		return NVML_ERROR_INVALID_ARGUMENT;
	int lock = mig_open(index, &m);
	m.pending = mode;
	*activation = NVML_SUCCESS;
	if (m.current == (int)mode)
		return mig_close(lock, index, &m, NVML_SUCCESS);
	if (process_on(index, -1, -1))
		*activation = NVML_ERROR_IN_USE;
	else if (state_text(index, "mig_activation", word, sizeof word))
		*activation = error_named(word);
	if (*activation == NVML_SUCCESS) {
		m.current = mode;
		memset(m.gis, 0, sizeof m.gis);
	}
	return mig_close(lock, index, &m, NVML_SUCCESS);
}

static const struct profile *profile_numbered(int index, unsigned number)
{
	for (const struct profile *p = state_board(index)->profiles; p != NULL && p->name != NULL; p++)
		if (p->number == (int)number)
			return p;
	return NULL;
}

static void set_version(int version, const struct profile *p, nvmlGpuInstanceProfileInfo_v2_t *out)
{
	if (version == 3) {
		nvmlGpuInstanceProfileInfo_v3_t *v3 = (nvmlGpuInstanceProfileInfo_v3_t *)out;
		v3->id = p->id, v3->sliceCount = p->slices, v3->instanceCount = p->max;
		v3->multiprocessorCount = p->sms, v3->memorySizeMB = p->mib;
		snprintf(v3->name, sizeof v3->name, "MIG %s", p->name);
		return;
	}
	out->id = p->id, out->sliceCount = p->slices, out->instanceCount = p->max;
	out->multiprocessorCount = p->sms, out->memorySizeMB = p->mib;
	snprintf(out->name, sizeof out->name, "MIG %s", p->name);
}

NEW nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int number, nvmlGpuInstanceProfileInfo_t *out)
{
	ENTER(device.handle->index);
	if (number >= NVML_GPU_INSTANCE_PROFILE_COUNT)
		return NVML_ERROR_INVALID_ARGUMENT;
	const struct profile *p = profile_numbered(device.handle->index, number);
	if (p == NULL)
		return NVML_ERROR_NOT_SUPPORTED;
	memset(out, 0, sizeof *out);
	out->id = p->id, out->sliceCount = p->slices, out->instanceCount = p->max;
	out->multiprocessorCount = p->sms, out->memorySizeMB = p->mib;
	return NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int number, nvmlGpuInstanceProfileInfo_v2_t *out)
{
	ENTER(device.handle->index);
	if (number >= NVML_GPU_INSTANCE_PROFILE_COUNT)
		return NVML_ERROR_INVALID_ARGUMENT;
	const struct profile *p = profile_numbered(device.handle->index, number);
	if (p == NULL)
		return NVML_ERROR_NOT_SUPPORTED;
	if (out->version == nvmlGpuInstanceProfileInfo_v3)
		set_version(3, p, out);
	else if (out->version == nvmlGpuInstanceProfileInfo_v2)
		set_version(2, p, out);
	else
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	return NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned int id,
	nvmlGpuInstancePlacement_t *out, unsigned int *count)
{
	unsigned n = 0;

	ENTER(device.handle->index);
	const struct profile *p = profile_with_id(device.handle->index, id);
	if (p == NULL)
		return NVML_ERROR_NOT_SUPPORTED;
	/* Told in order of place, whatever the order in which the driver tries them. */
	for (int at = 0; at < state_board(device.handle->index)->units; at++)
		for (int i = 0; p->starts[i] >= 0; i++)
			if (p->starts[i] == at) {
				if (out != NULL && n < *count)
					out[n] = (nvmlGpuInstancePlacement_t){at, p->size};
				n++;
			}
	bool small = out != NULL && n > *count;
	*count = n;
	return small ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

NEW nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device, unsigned int id,
	nvmlGpuInstancePlacement_t *out, unsigned int *count)
{
	return nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, id, out, count);
}
