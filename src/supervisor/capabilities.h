/* SPDX-License-Identifier: MIT */
/* What a backend does, asked of the very functions that do or refuse it. */
#ifndef SUPERVISOR_CAPABILITIES_H
#define SUPERVISOR_CAPABILITIES_H

#include "backend/backend.h"
#include "contract/state.h"

/* {"backend","commands":[],"networks":[],"features":[]}. built[i]: command i has a function here.
 * NULL without memory. */
json_t *capabilities_json(const struct backend *backend, const bool built[COMMAND_COUNT],
			  struct error *err);
/* ERR_UNSUPPORTED for a field that needs a function which this backend has not. */
int capabilities_require(const struct backend *backend, const struct config *config,
			 struct error *err);

#endif
