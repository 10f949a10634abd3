/* SPDX-License-Identifier: MIT */
/* Tells what a backend can do and cannot do, by its rows of refusals. Pure. */
#ifndef SUPERVISOR_REFUSALS_H
#define SUPERVISOR_REFUSALS_H

#include <jansson.h>
#include <stdbool.h>

#include "backend/refusal.h"
#include "base/error.h"
#include "contract/state.h"

/* Checks that the config asks for nothing that the rows refuse, and has no field that only QEMU's
 * backend knows. ERR_UNSUPPORTED names the first such field. `backend` is the name of the backend
 * that has these rows. A row whose `field` is NULL ends the array. */
int refusals_check(const char *backend, const struct backend_refusal *refusals,
		   const struct config *config, struct error *err);
/* Returns {"backend","commands":[],"networks":[],"features":[],"refusals":[]}. built[i] says
 * whether this program has a function for command i. The caller releases the result. Returns NULL
 * with an error if there is no memory. */
json_t *refusals_capabilities(const char *name, const struct backend_refusal *refusals,
			      const bool built[COMMAND_COUNT], struct error *err);

#endif
