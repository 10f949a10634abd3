/* SPDX-License-Identifier: MIT */
/* Finds the machine of the user that holds a port of this host. A machine can hold a port without
 * listening at it, and no tool of the system shows such a port. So this code reads the records of
 * the machines. */
#ifndef STORE_PORT_HOLDER_H
#define STORE_PORT_HOLDER_H

#include <jansson.h>
#include <stdbool.h>

#include "store/store.h"

struct port_holder {
	char workspace[512]; /* name of the workspace, and path of its state directory, for
			      * messages */
	/* The entry of the machine in config.network.portForwards. The caller releases it. */
	json_t *published;
};
/* Finds the machine that holds the port of `forward`, an entry that could not be published. Checks
 * every running machine of the user in any state directory. The machine whose live supervisor calls
 * this function is not checked. If no holder is found, returns false and does not change *out. */
bool port_holder_find(const json_t *forward, struct port_holder *out);
/* Returns the entry in the workspace's config because of which the port of `forward` cannot be
 * published while the workspace runs. Returns NULL if there is none. The caller releases the
 * entry. */
json_t *port_holder_entry(const struct workspace *ws, const json_t *forward);

#endif
