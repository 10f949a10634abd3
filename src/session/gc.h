/* SPDX-License-Identifier: MIT */
/* Between gc.c and gc_pools.c. */
#ifndef SESSION_GC_H
#define SESSION_GC_H

#include <jansson.h>

#include "api/api.h"

struct gc {
	struct microagent *agent;
	json_t *removed, *adopted, *left;
};

/* {name, why} in one of the lists. */
int gc_note(json_t *list, const char *name, const char *why, struct error *err);
/* What could not be removed, which keeps nothing else from being so. */
int gc_leave(struct gc *gc, const char *name, const struct error *why, struct error *err);
int gc_pools(struct gc *gc, struct error *err); /* last: what is gone by then has no token */

#endif
