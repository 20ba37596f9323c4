/* The MIG state of a device. */
#ifndef FAKENVML_MIG_H
#define FAKENVML_MIG_H

#include "fakenvml.h"

struct ci { bool used; int profile, start, slices; };
struct gi { bool used; int profile, start, size; struct ci cis[MAX_CIS]; };
struct mig { int current, pending; struct gi gis[MAX_GIS]; };

void mig_read(int index, struct mig *m);
/* mig_open locks and reads; mig_close writes what changed (unless NULL or an error), unlocks
 * and passes r through. */
int mig_open(int index, struct mig *m);
nvmlReturn_t mig_close(int lock, int index, const struct mig *changed, nvmlReturn_t r);
const struct profile *profile_with_id(int index, int id);

#endif
