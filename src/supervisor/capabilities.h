/* SPDX-License-Identifier: MIT */
/* Tells what a backend can do. The answer comes from the functions that also carry out or refuse a
 * request. */
#ifndef SUPERVISOR_CAPABILITIES_H
#define SUPERVISOR_CAPABILITIES_H

#include "backend/backend.h"
#include "contract/state.h"

/* Returns the capabilities: {"backend","commands":[],"networks":[],"features":[],"refusals":[]}.
 * built[i] is true if this program has a function for command i. The caller releases the result.
 * Returns NULL with an error if there is no memory. */
json_t *capabilities_json(const struct backend *backend, const bool built[COMMAND_COUNT],
			  struct error *err);
/* Checks that the config asks only for things that this backend can do on some host. Does no I/O.
 * ERR_UNSUPPORTED: the config asks for something else, and the message names it. */
int capabilities_refuse(const struct backend *backend, const struct config *config,
			struct error *err);
/* Checks the config with capabilities_refuse(), and then with the backend's check() for this
 * host. */
int capabilities_check(const struct backend *backend, const struct config *config,
		       struct error *err);

#endif
