/* A stand-in for NVIDIA's libnvidia-ml.so.1, for tests: the functions of nvml.h over
 * text files in the directory that FAKENVML_STATE names. The files may be edited while
 * programs run; every call reads what changed. Written from nvml.h, NVIDIA's MIG user
 * guide and outputs of nvidia-smi that people have published. */
#ifndef FAKENVML_H
#define FAKENVML_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"

#include <stdbool.h>
#include <stddef.h>

/* API marks what every build exports, NEW what an old driver (R418) lacks. */
#define API __attribute__((visibility("default")))
#ifdef FAKENVML_OLD
#define NEW __attribute__((visibility("hidden")))
#define IS_OLD true
#else
#define NEW API
#define IS_OLD false
#endif

#define MAX_GPUS 128
#define MAX_GIS 16 /* GPU instance ids of a device are below this */
#define MAX_CIS 8
#define NONE 0xFFFFFFFFu

/* Handles. A MIG device has gi and ci; a whole device has -1. */
struct nvmlDevice_st { int index, gi, ci; };
struct nvmlGpuInstance_st { int index, id; };
struct nvmlComputeInstance_st { int index, gi, id; };

/* boards.c */
struct profile {
	int number; /* NVML_GPU_INSTANCE_PROFILE_* */
	int id;     /* what nvidia-smi mig -lgip prints */
	const char *name;
	int slices, size, max, sms; /* sms 0: not known */
	long long mib;
	int starts[8]; /* where it may start, in the order in which the driver tries; ends with -1 */
};
struct board {
	const char *key, *name;
	unsigned pci;    /* device and vendor id */
	int slices, units; /* compute slices, memory slices; 0: no MIG */
	long long mib;
	int nvlinks, slowdown; /* slowdown 0: told only as a margin (T.Limit) */
	int power;             /* limit, watts */
	const struct profile *profiles; /* ends with a NULL name */
};
const struct board *board_named(const char *key);

/* state.c: the text files. A file is looked at once in a call. */
void state_call(void); /* a call begins, on this thread */
void state_lock(void);
void state_unlock(void);
int state_count(void);
bool state_text(int index, const char *key, char *out, size_t size); /* index -1: the driver file */
long long state_number(int index, const char *key, long long otherwise);
bool state_line(int index, const char *key, int nth, char *out, size_t size);
const struct board *state_board(int index);
const char *state_path(const char *name, char *out, size_t size);
/* state_reading reads a number that may be "unsupported" or the name of an error. */
nvmlReturn_t state_reading(int index, const char *key, long long otherwise, long long *out);

/* faults.c: calls that are made to fail, hang or be slow. */
nvmlReturn_t enter(const char *call, int index);
nvmlReturn_t error_named(const char *word);
#define ENTER(index) do { nvmlReturn_t r_ = enter(__func__, index); if (r_ != NVML_SUCCESS) return r_; } while (0)

/* device.c */
nvmlDevice_t device_at(int index, int gi, int ci);
nvmlReturn_t put_text(char *out, unsigned size, const char *text);

/* mig.c */
bool mig_enabled(int index);
int mig_instances(int index);
bool mig_uuid(int index, int gi, int ci, char *out, size_t size);
long long mig_bytes(int index, int gi);
long long process_bytes(int index, int gi);
bool process_on(int index, int gi, int ci);

#endif
