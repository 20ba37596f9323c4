/* Processes: lines "process PID BYTES [GI [CI [C|G]]]" of a device. */
#include "fakenvml.h"

#include <stdio.h>

struct process { unsigned pid; unsigned long long bytes; unsigned gi, ci; char kind; };

static bool process_at(int index, int nth, struct process *p)
{
	char line[128];
	int gi = -1, ci = -1;

	if (!state_line(index, "process", nth, line, sizeof line))
		return false;
	p->kind = 'C';
	sscanf(line, "%u %llu %d %d %c", &p->pid, &p->bytes, &gi, &ci, &p->kind);
	p->gi = gi;
	p->ci = ci;
	return true;
}

bool process_on(int index, int gi, int ci)
{
	struct process p;

	for (int i = 0; process_at(index, i, &p); i++)
		if ((gi < 0 || p.gi == (unsigned)gi) && (ci < 0 || p.ci == (unsigned)ci))
			return true;
	return false;
}

long long process_bytes(int index, int gi)
{
	struct process p;
	long long sum = 0;

	for (int i = 0; process_at(index, i, &p); i++)
		if (gi < 0 || p.gi == (unsigned)gi)
			sum += p.bytes;
	return sum;
}

/* list fills out when it is large enough, and always tells how many there are. */
static nvmlReturn_t list(nvmlDevice_t device, char kind, unsigned *count, void *out, bool v1)
{
	struct process p;
	unsigned n = 0, room = out == NULL ? 0 : *count;

	for (int i = 0; process_at(device.handle->index, i, &p); i++) {
		if (p.kind != kind || (device.handle->gi >= 0 && p.gi != (unsigned)device.handle->gi))
			continue;
		if (n < room && v1)
			((nvmlProcessInfo_v1_t *)out)[n] = (nvmlProcessInfo_v1_t){p.pid, p.bytes};
		else if (n < room)
			((nvmlProcessInfo_t *)out)[n] = (nvmlProcessInfo_t){p.pid, p.bytes, p.gi, p.ci};
		n++;
	}
	*count = n;
	return n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

#define LIST(name, mark, type, kind, v1) \
	mark nvmlReturn_t name(nvmlDevice_t device, unsigned int *count, type *infos) \
	{ ENTER(device.handle->index); return list(device, kind, count, infos, v1); }

LIST(nvmlDeviceGetComputeRunningProcesses, API, nvmlProcessInfo_v1_t, 'C', true)
LIST(nvmlDeviceGetComputeRunningProcesses_v2, NEW, nvmlProcessInfo_v2_t, 'C', false)
LIST(nvmlDeviceGetComputeRunningProcesses_v3, NEW, nvmlProcessInfo_t, 'C', false)
LIST(nvmlDeviceGetGraphicsRunningProcesses, API, nvmlProcessInfo_v1_t, 'G', true)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, NEW, nvmlProcessInfo_v2_t, 'G', false)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, NEW, nvmlProcessInfo_t, 'G', false)
