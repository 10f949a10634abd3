/* SPDX-License-Identifier: MIT */
/* Tells what a backend can do and what it refuses, by its rows of refusals. These functions do no
 * I/O. */
#ifndef SUPERVISOR_REFUSALS_H
#define SUPERVISOR_REFUSALS_H

#include <jansson.h>
#include <stdbool.h>

#include "backend/refusal.h"
#include "base/error.h"
#include "contract/state.h"

/* Checks that no row refuses the config, and that the config has no field that only QEMU's backend
 * knows. ERR_UNSUPPORTED: this is not so, and the message names the first such field. `backend` is
 * the name of the backend that has these rows. A row whose `field` is NULL ends the array. */
int refusals_check(const char *backend, const struct backend_refusal *refusals,
		   const struct config *config, struct error *err);
/* Returns {"backend","commands":[],"networks":[],"features":[],"refusals":[]}. built[i] is true if
 * this program has a function for command i. The caller releases the result. Returns NULL with an
 * error if there is no memory. */
json_t *refusals_capabilities(const char *name, const struct backend_refusal *refusals,
			      const bool built[COMMAND_COUNT], struct error *err);

#endif
