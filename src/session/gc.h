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
/* Notes something that could not be removed. The removal of the other things goes on. */
int gc_leave(struct gc *gc, const char *name, const struct error *why, struct error *err);
/* Runs last: by then the removed sessions have no tokens. */
int gc_pools(struct gc *gc, struct error *err);

#endif
