/* SPDX-License-Identifier: MIT */
/* What a backend does, asked of the very functions that do or refuse it. */
#ifndef SUPERVISOR_CAPABILITIES_H
#define SUPERVISOR_CAPABILITIES_H

#include "backend/backend.h"
#include "contract/state.h"

/* {"backend","commands":[],"networks":[],"features":[],"refusals":[]}. built[i]: command i has a
 * function here. NULL without memory. */
json_t *capabilities_json(const struct backend *backend, const bool built[COMMAND_COUNT],
			  struct error *err);
/* Refuses what this backend has no way to give on any host (ERR_UNSUPPORTED). Pure. */
int capabilities_refuse(const struct backend *backend, const struct config *config,
			struct error *err);
/* The same, and what the backend's check refuses. */
int capabilities_check(const struct backend *backend, const struct config *config,
		       struct error *err);

#endif
