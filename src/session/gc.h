/* SPDX-License-Identifier: MIT */
/* Functions that gc.c and gc_pools.c share. */
#ifndef SESSION_GC_H
#define SESSION_GC_H

#include <jansson.h>

#include "api/api.h"

struct gc {
	struct microagent *agent;
	json_t *removed, *adopted, *left;
};

/* Appends {name, why} to one of the lists. */
int gc_note(json_t *list, const char *name, const char *why, struct error *err);
/* Notes that a thing could not be removed, and why. The caller goes on with the next thing. */
int gc_leave(struct gc *gc, const char *name, const struct error *why, struct error *err);
/* Cleans up the pools. Called last, when the sessions that were removed have no tokens any more. */
int gc_pools(struct gc *gc, struct error *err);

#endif
