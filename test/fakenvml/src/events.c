/* Events: lines "DEVICE xid|recovery|ecc-double VALUE" appended to the file "events". As
 * nvml.h says: of several XIDs since the last wait, each is told with the last code. */
#include "fakenvml.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define MAX_EVENTS 256

struct nvmlEventSet_st {
	unsigned long long types[MAX_GPUS];
	long offset; /* read so far */
	int watch;   /* inotify, of the state directory */
	struct { int device; unsigned long long type, value; } queue[MAX_EVENTS];
	int first, count;
};

static FILE *events(void)
{
	char path[4096];

	return fopen(state_path("events", path, sizeof path), "r");
}

API nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	ENTER(-1);
	struct nvmlEventSet_st *s = calloc(1, sizeof *s);
	char dir[4096];
	s->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	inotify_add_watch(s->watch, state_path("", dir, sizeof dir), IN_MODIFY | IN_CREATE | IN_MOVED_TO);
	FILE *f = events();
	if (f != NULL) {
		fseek(f, 0, SEEK_END);
		s->offset = ftell(f);
		fclose(f);
	}
	set->handle = s;
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
	close(set.handle->watch);
	free(set.handle);
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
	ENTER(device.handle->index);
	*types = nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError | nvmlEventTypeSingleBitEccError;
	if (!IS_OLD)
		*types |= nvmlEventTypeGpuRecoveryAction;
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
	ENTER(device.handle->index);
	set.handle->types[device.handle->index] |= types;
	return NVML_SUCCESS;
}

static unsigned long long type_named(const char *word)
{
	if (strcmp(word, "recovery") == 0)
		return nvmlEventTypeGpuRecoveryAction;
	if (strcmp(word, "ecc-double") == 0)
		return nvmlEventTypeDoubleBitEccError;
	return nvmlEventTypeXidCriticalError;
}

/* collect queues what was appended, and gives every XID of a device the last one's code. */
static void collect(struct nvmlEventSet_st *s)
{
	char line[128], word[32];
	int device;
	unsigned long long value;
	FILE *f = events();

	if (f == NULL)
		return;
	fseek(f, s->offset, SEEK_SET);
	while (s->count < MAX_EVENTS && fgets(line, sizeof line, f) != NULL && strchr(line, '\n') != NULL) {
		s->offset = ftell(f);
		value = 0;
		if (sscanf(line, "%d %31s %llu", &device, word, &value) < 2 || device < 0 || device >= MAX_GPUS)
			continue;
		unsigned long long type = type_named(word);
		if (!(s->types[device] & type))
			continue;
		s->queue[s->count].device = device;
		s->queue[s->count].type = type;
		s->queue[s->count++].value = value;
		for (int i = s->first; i < s->count; i++)
			if (s->queue[i].device == device && s->queue[i].type == type && type == nvmlEventTypeXidCriticalError)
				s->queue[i].value = value;
	}
	fclose(f);
}

static bool next(struct nvmlEventSet_st *s, nvmlEventData_t *data)
{
	if (s->first == s->count) {
		s->first = s->count = 0;
		collect(s);
	}
	if (s->first == s->count)
		return false;
	memset(data, 0, sizeof *data);
	data->device = device_at(s->queue[s->first].device, -1, -1);
	data->eventType = s->queue[s->first].type;
	if (data->eventType == nvmlEventTypeXidCriticalError)
		data->eventData = s->queue[s->first].value;
	data->gpuInstanceId = data->computeInstanceId = NONE;
	s->first++;
	return true;
}

API nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout)
{
	char seen[4096];
	struct pollfd p = {set.handle->watch, POLLIN, 0};

	ENTER(-1);
	for (;;) {
		if (next(set.handle, data))
			return NVML_SUCCESS;
		int r = poll(&p, 1, timeout);
		if (r == 0)
			return NVML_ERROR_TIMEOUT;
		while (read(set.handle->watch, seen, sizeof seen) > 0)
			;
	}
}

API nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout)
{
	return nvmlEventSetWait_v2(set, data, timeout);
}
