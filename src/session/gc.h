/* SPDX-License-Identifier: MIT */
/* Declares what gc.c and gc_pools.c share. */
#ifndef SESSION_GC_H
#define SESSION_GC_H

#include <jansson.h>

#include "api/api.h"

struct gc {
	struct microagent *agent;
	json_t *removed, *adopted, *left;
};

/* Appends the object {name, why} to a list of results. */
int gc_note(json_t *list, const char *name, const char *why, struct error *err);
/* Records in gc->left that an orphan could not be removed, and the reason `why`, so that the caller
 * can continue with the next orphan. Returns 0, or -1 with err set if there is no memory. */
int gc_leave(struct gc *gc, const char *name, const struct error *why, struct error *err);
/* Cleans up the pools. Must be called after the sessions were cleaned up, because that also removes
 * tokens from the pools. */
int gc_pools(struct gc *gc, struct error *err);

#endif
