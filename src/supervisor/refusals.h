/* SPDX-License-Identifier: MIT */
/* Finds out what a backend supports and what it refuses, from the backend's table of refusals.
 * These functions read and write no files. */
#ifndef SUPERVISOR_REFUSALS_H
#define SUPERVISOR_REFUSALS_H

#include <jansson.h>
#include <stdbool.h>

#include "backend/refusal.h"
#include "base/error.h"
#include "contract/state.h"

/* Checks that no row refuses the config, and that the config has no field that only QEMU's backend
 * knows. ERR_UNSUPPORTED: a row refuses the config, or the config has such a field. The message
 * names the first refused field. `backend` is the name of the backend to which the rows belong. The
 * last row has NULL as its `field`. */
int refusals_check(const char *backend, const struct backend_refusal *refusals,
		   const struct config *config, struct error *err);
/* Returns {"backend","commands":[],"networks":[],"features":[],"refusals":[]}. built[i] is true if
 * this program has a function for command i. The caller releases the result. Returns NULL with an
 * error if there is no memory. */
json_t *refusals_capabilities(const char *name, const struct backend_refusal *refusals,
			      const bool built[COMMAND_COUNT], struct error *err);

#endif
