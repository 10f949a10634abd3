/* SPDX-License-Identifier: MIT */
/* Says what a backend can do, by the same functions that refuse a request or let it be carried
 * out. */
#ifndef SUPERVISOR_CAPABILITIES_H
#define SUPERVISOR_CAPABILITIES_H

#include "backend/backend.h"
#include "contract/state.h"

/* Returns the capabilities: {"backend","commands":[],"networks":[],"features":[],"refusals":[]}.
 * built[i] is true if this program has a function for command i. The caller releases the object
 * with json_decref(). Returns NULL with an error if there is no memory. */
json_t *capabilities_json(const struct backend *backend, const bool built[COMMAND_COUNT],
			  struct error *err);
/* Checks that the config asks only for things that this backend supports on at least one host.
 * Reads no file and asks nothing of this host. ERR_UNSUPPORTED: the config asks for something that
 * the backend does not support, and the message names it. */
int capabilities_refuse(const struct backend *backend, const struct config *config,
			struct error *err);
/* Checks the config with capabilities_refuse(), and then with the backend's check() for this
 * host. */
int capabilities_check(const struct backend *backend, const struct config *config,
		       struct error *err);

#endif
