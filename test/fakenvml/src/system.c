/* The library and the driver as a whole. */
#include "fakenvml.h"

#include <stdio.h>
#include <string.h>

nvmlReturn_t put_text(char *out, unsigned size, const char *text)
{
	if (out == NULL)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (strlen(text) + 1 > size)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(out, text);
	return NVML_SUCCESS;
}

static nvmlReturn_t driver_text(const char *key, const char *otherwise, char *out, unsigned size)
{
	char value[128];

	if (!state_text(-1, key, value, sizeof value))
		strcpy(value, otherwise);
	return put_text(out, size, value);
}

static nvmlReturn_t init(const char *call, unsigned flags)
{
	nvmlReturn_t r = enter(call, -1);

	if (r != NVML_SUCCESS)
		return r;
	if (state_number(-1, "loaded", 1) == 0)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	if (state_count() == 0 && !(flags & NVML_INIT_FLAG_NO_GPUS))
		return NVML_ERROR_NOT_FOUND;
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlInit(void) { return init(__func__, 0); }
API nvmlReturn_t nvmlInit_v2(void) { return init(__func__, 0); }
API nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { return init(__func__, flags); }
API nvmlReturn_t nvmlShutdown(void) { return NVML_SUCCESS; }

API const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS: return "Success";
	case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
	case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
	case NVML_ERROR_IN_USE: return "In use by another client";
	case NVML_ERROR_INSUFFICIENT_RESOURCES: return "Insufficient Resources";
	default: return "Unknown Error";
	}
}

API nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	ENTER(-1);
	return driver_text("driver", IS_OLD ? "418.226.00" : "570.86.15", version, length);
}

API nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	ENTER(-1);
	return driver_text("nvml", IS_OLD ? "10.418.226.00" : "12.570.86.15", version, length);
}

API nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
	ENTER(-1);
	*version = state_number(-1, "cuda", IS_OLD ? 10010 : 12080);
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { return nvmlSystemGetCudaDriverVersion(version); }

API nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
	char path[64], text[256] = "";

	ENTER(-1);
	snprintf(path, sizeof path, "/proc/%u/comm", pid);
	FILE *f = fopen(path, "r");
	if (f == NULL)
		return NVML_ERROR_NOT_FOUND;
	if (fgets(text, sizeof text, f) != NULL)
		text[strcspn(text, "\n")] = 0;
	fclose(f);
	return put_text(name, length, text);
}
