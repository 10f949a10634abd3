/* SPDX-License-Identifier: MIT */
/* What a backend does and what not, told from the rows of what it refuses. Pure. */
#ifndef SUPERVISOR_REFUSALS_H
#define SUPERVISOR_REFUSALS_H

#include <jansson.h>
#include <stdbool.h>

#include "backend/refusal.h"
#include "base/error.h"
#include "contract/state.h"

/* ERR_UNSUPPORTED for the first row that the config asks for, or for a field that QEMU's backend
 * alone has. backend is the name of the one whose rows these are; the last row has no field. */
int refusals_check(const char *backend, const struct backend_refusal *refusals,
		   const struct config *config, struct error *err);
/* {"backend","commands":[],"networks":[],"features":[],"refusals":[]}. built[i]: command i has a
 * function here. NULL without memory. */
json_t *refusals_capabilities(const char *name, const struct backend_refusal *refusals,
			      const bool built[COMMAND_COUNT], struct error *err);

#endif
