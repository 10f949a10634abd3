/* SPDX-License-Identifier: MIT */
/* What a backend can do, asked of the same functions that do or refuse it. */
#ifndef SUPERVISOR_CAPABILITIES_H
#define SUPERVISOR_CAPABILITIES_H

#include "backend/backend.h"
#include "contract/state.h"

/* Returns {"backend","commands":[],"networks":[],"features":[],"refusals":[]}. built[i] says
 * whether command i has a function here. Returns NULL if there is no memory. */
json_t *capabilities_json(const struct backend *backend, const bool built[COMMAND_COUNT],
			  struct error *err);
/* Refuses a config that asks for something that this backend cannot give on any host
 * (ERR_UNSUPPORTED). Pure. */
int capabilities_refuse(const struct backend *backend, const struct config *config,
			struct error *err);
/* Refuses what capabilities_refuse() refuses, and what the backend's check() refuses. */
int capabilities_check(const struct backend *backend, const struct config *config,
		       struct error *err);

#endif
