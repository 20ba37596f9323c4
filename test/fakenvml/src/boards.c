/* The boards, as data. Ids, counts and placements: NVIDIA's MIG user guide (supported
 * MIG profiles) and published output of nvidia-smi mig -lgip and -lgipp. The starts stand
 * in the order in which the driver tries them, which the guide's examples show:
 * -cgi 19,14,5 puts 1g at 6, 2g at 4, 4g at 0; -cgi 9,19,14,19 puts 3g at 4, 1g at 0,
 * 2g at 2, 1g at 1; -cgi 14,19,19,19,19,19 puts 2g at 4 and 1g at 6, 0, 1, 2, 3;
 * -cgi 19,19,14,9 fails. Where a size is not known from such output it is computed from
 * the name, and says so. */
#include "fakenvml.h"

#include <string.h>

#define END {0, 0, NULL, 0, 0, 0, 0, 0, {-1}}
#define ONE {6, 4, 5, 0, 1, 2, 3, -1}
#define DOUBLE {6, 4, 0, 2, -1}
#define TWO {4, 0, 2, -1}
#define THREE {4, 0, -1}
#define FIRST {0, -1}

/* Seven compute and eight memory slices: A100, H100, H200, B200. */
#define SEVEN(n1, n1x, n2, n3, n4, n7, m1, m1x, m2, m3, m4, m7, s1, s1x, s2, s3, s4, s7) { \
	{0, 19, n1, 1, 1, 7, s1, m1, ONE}, \
	{7, 20, n1 "+me", 1, 1, 1, s1, m1, ONE}, \
	{9, 15, n1x, 1, 2, 4, s1x, m1x, DOUBLE}, \
	{1, 14, n2, 2, 2, 3, s2, m2, TWO}, \
	{2, 9, n3, 3, 4, 2, s3, m3, THREE}, \
	{3, 5, n4, 4, 4, 1, s4, m4, FIRST}, \
	{4, 0, n7, 7, 8, 1, s7, m7, FIRST}, \
	END}

/* Sizes and SMs: go-nvml's recorded DGX A100 and the guide. */
static const struct profile a100_40[] = SEVEN("1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb",
	4864, 9856, 9856, 19968, 19968, 40192, 14, 14, 28, 42, 56, 98);

/* Published -lgip: 9.50, 19.50, 39.25 and 79.00 GiB. */
static const struct profile a100_80[] = SEVEN("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb",
	9728, 19968, 19968, 40192, 40192, 80896, 14, 14, 28, 42, 56, 98);

/* Published -lgip: 9.75, 19.62, 39.50 and 79.25 GiB; 26, 60 and 132 SMs. */
static const struct profile h100_80[] = SEVEN("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb",
	9984, 20096, 20096, 40448, 40448, 81152, 16, 26, 32, 60, 64, 132);

/* Published -lgip: 10.75, 21.62 and 46.38 GiB; the size of 7g is computed. */
static const struct profile h100_nvl[] = SEVEN("1g.12gb", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb",
	11008, 22144, 22144, 47488, 47488, 95232, 16, 26, 32, 60, 0, 132);

/* Published -lgip in parts: 16.00, 32.50, 69.75 and 140.00 GiB; 1g.35gb is computed. */
static const struct profile h200_141[] = SEVEN("1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb",
	16384, 33280, 33280, 71424, 71424, 143360, 16, 26, 32, 60, 0, 132);

/* Names from the guide; no published -lgip was found: sizes are computed. */
static const struct profile b200_180[] = SEVEN("1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb",
	23040, 46080, 46080, 92160, 92160, 183296, 0, 0, 0, 0, 0, 0);

/* Four slices. Published -lgip: 5.81, 11.69 and 23.44 GiB. */
static const struct profile a30_24[] = {
	{0, 14, "1g.6gb", 1, 1, 4, 14, 5952, {0, 1, 2, 3, -1}},
	{7, 21, "1g.6gb+me", 1, 1, 1, 14, 5952, {0, 1, 2, 3, -1}},
	{1, 5, "2g.12gb", 2, 2, 2, 28, 11968, {0, 2, -1}},
	{8, 6, "2g.12gb+me", 2, 2, 1, 28, 11968, {0, 2, -1}},
	{3, 0, "4g.24gb", 4, 4, 1, 56, 24000, FIRST},
	END};

/* PCI ids: mig-parted's configuration. T4: a board without MIG. */
static const struct board boards[] = {
	{"A100-40", "NVIDIA A100-SXM4-40GB", 0x20B010DE, 7, 8, 40960, 12, 89, 400, a100_40},
	{"A100-80", "NVIDIA A100-SXM4-80GB", 0x20B210DE, 7, 8, 81920, 12, 89, 400, a100_80},
	{"A30", "NVIDIA A30", 0x20B710DE, 4, 4, 24576, 4, 89, 165, a30_24},
	{"H100-80", "NVIDIA H100 80GB HBM3", 0x233010DE, 7, 8, 81559, 18, 87, 700, h100_80},
	{"H100-NVL", "NVIDIA H100 NVL", 0x232110DE, 7, 8, 95830, 18, 87, 400, h100_nvl},
	{"H200-141", "NVIDIA H200", 0x233510DE, 7, 8, 143771, 18, 87, 700, h200_141},
	{"B200", "NVIDIA B200", 0x290110DE, 7, 8, 183359, 18, 0, 1000, b200_180},
	{"T4", "Tesla T4", 0x1EB810DE, 0, 0, 15360, 0, 93, 70, NULL},
};

const struct board *board_named(const char *key)
{
	for (size_t i = 0; i < sizeof boards / sizeof *boards; i++)
		if (strcmp(boards[i].key, key) == 0)
			return &boards[i];
	return &boards[3];
}
