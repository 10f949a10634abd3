/* SPDX-License-Identifier: MIT */
/* Finding the user's machine that has a port of this host. A machine can hold a port without
 * listening at the port, and no tool of the system shows such a port. So the records of the
 * machines are read. */
#ifndef STORE_PORT_HOLDER_H
#define STORE_PORT_HOLDER_H

#include <jansson.h>
#include <stdbool.h>

#include "store/store.h"

struct port_holder {
	char workspace[512]; /* name of the workspace and its state directory, for messages */
	/* The machine's entry of config.network.portForwards; the caller releases it. */
	json_t *published;
};
/* Looks for the machine that holds the port of `forward`, an entry that could not be published.
 * Looks at every running machine of the user, in any state directory, except the machine whose live
 * supervisor calls this function. Returns false if no holder is found, and leaves *out unchanged
 * then. */
bool port_holder_find(const json_t *forward, struct port_holder *out);
/* Returns the entry of the workspace's config whose port excludes the port of `forward` while the
 * workspace runs; NULL if there is none. The caller releases the entry. */
json_t *port_holder_entry(const struct workspace *ws, const json_t *forward);

#endif
