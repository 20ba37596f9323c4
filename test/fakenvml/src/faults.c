/* Calls made to fail: lines "CALL DEVICE ACTION [NTH]" of the file "faults". CALL is a
 * function's name (a _v2 at its end may be left out) or *; DEVICE an index, or * for all
 * and for calls that name none; ACTION is hang, hang-lock (nobody else gets through
 * either), slow:MS, or an error by name or number. With NTH only the nth such call of a
 * process since the file changed is hit. */
#include "fakenvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_FAULTS 64

static struct fault { char call[96], device[16], action[48]; int nth, seen; } faults[MAX_FAULTS];
static int count;
static struct stat last;

static const struct { const char *name; nvmlReturn_t code; } errors[] = {
	{"uninitialized", NVML_ERROR_UNINITIALIZED}, {"invalid_argument", NVML_ERROR_INVALID_ARGUMENT},
	{"not_supported", NVML_ERROR_NOT_SUPPORTED}, {"unsupported", NVML_ERROR_NOT_SUPPORTED},
	{"no_permission", NVML_ERROR_NO_PERMISSION}, {"not_found", NVML_ERROR_NOT_FOUND},
	{"driver_not_loaded", NVML_ERROR_DRIVER_NOT_LOADED}, {"timeout", NVML_ERROR_TIMEOUT},
	{"lost", NVML_ERROR_GPU_IS_LOST}, {"reset_required", NVML_ERROR_RESET_REQUIRED},
	{"in_use", NVML_ERROR_IN_USE}, {"insufficient_resources", NVML_ERROR_INSUFFICIENT_RESOURCES},
	{"version_mismatch", NVML_ERROR_LIB_RM_VERSION_MISMATCH}, {"unknown", NVML_ERROR_UNKNOWN},
};

nvmlReturn_t error_named(const char *word)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (strcmp(errors[i].name, word) == 0)
			return errors[i].code;
	int n = atoi(word);
	return n > 0 ? (nvmlReturn_t)n : NVML_ERROR_UNKNOWN;
}

static void load(void)
{
	char path[4096], line[256];
	struct stat st;

	if (stat(state_path("faults", path, sizeof path), &st) != 0) {
		count = 0;
		last.st_ino = 0;
		return;
	}
	if (st.st_ino == last.st_ino && st.st_size == last.st_size &&
	    st.st_mtim.tv_sec == last.st_mtim.tv_sec && st.st_mtim.tv_nsec == last.st_mtim.tv_nsec)
		return;
	last = st;
	count = 0;
	FILE *f = fopen(path, "r");
	while (f != NULL && count < MAX_FAULTS && fgets(line, sizeof line, f) != NULL) {
		struct fault *x = &faults[count];
		x->nth = x->seen = 0;
		if (sscanf(line, "%95s %15s %47s %d", x->call, x->device, x->action, &x->nth) >= 3)
			count++;
	}
	if (f != NULL)
		fclose(f);
}

static bool names(const char *pattern, const char *call)
{
	size_t n = strlen(pattern);

	if (strcmp(pattern, "*") == 0)
		return true;
	return strncmp(pattern, call, n) == 0 && (call[n] == 0 || strncmp(call + n, "_v", 2) == 0);
}

/* due returns the action for this call, empty when there is none. */
static void due(const char *call, int index, char *action)
{
	char device[16];

	snprintf(device, sizeof device, "%d", index);
	*action = 0;
	load();
	for (int i = 0; i < count; i++) {
		struct fault *x = &faults[i];
		if (!names(x->call, call) || (strcmp(x->device, "*") != 0 && strcmp(x->device, device) != 0))
			continue;
		if (x->nth > 0 && ++x->seen != x->nth)
			continue;
		strcpy(action, x->action);
		return;
	}
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

nvmlReturn_t enter(const char *call, int index)
{
	char action[48];

	state_lock();
	state_call();
	due(call, index, action);
	if (strcmp(action, "hang-lock") == 0)
		wait_for_ever();
	state_unlock();
	if (*action == 0)
		return NVML_SUCCESS;
	if (strcmp(action, "hang") == 0)
		wait_for_ever();
	if (strncmp(action, "slow:", 5) == 0) {
		struct timespec t = {atoi(action + 5) / 1000, atoi(action + 5) % 1000 * 1000000L};
		nanosleep(&t, NULL);
		return NVML_SUCCESS;
	}
	return error_named(action);
}
