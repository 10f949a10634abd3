/* SPDX-License-Identifier: MIT */
/* What a backend can do and cannot do, found from the rows of what it refuses. Pure. */
#ifndef SUPERVISOR_REFUSALS_H
#define SUPERVISOR_REFUSALS_H

#include <jansson.h>
#include <stdbool.h>

#include "backend/refusal.h"
#include "base/error.h"
#include "contract/state.h"

/* Returns ERR_UNSUPPORTED for the first row that the config asks for, or for a field that only
 * QEMU's backend has. backend is the name of the backend that has these rows. The last row has no
 * field. */
int refusals_check(const char *backend, const struct backend_refusal *refusals,
		   const struct config *config, struct error *err);
/* Returns {"backend","commands":[],"networks":[],"features":[],"refusals":[]}. built[i] says
 * whether command i has a function here. Returns NULL if there is no memory. */
json_t *refusals_capabilities(const char *name, const struct backend_refusal *refusals,
			      const bool built[COMMAND_COUNT], struct error *err);

#endif
