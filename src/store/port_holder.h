/* SPDX-License-Identifier: MIT */
/* Finds the machine of the user that holds a port of this host. A machine can hold a port without
 * listening at the port, and then no tool of the operating system shows who holds it. So this code
 * reads the records of the machines. */
#ifndef STORE_PORT_HOLDER_H
#define STORE_PORT_HOLDER_H

#include <jansson.h>
#include <stdbool.h>

#include "store/store.h"

struct port_holder {
	char workspace[512]; /* name of the workspace, and path of its state directory, for
			      * messages */
	/* The machine's entry in config.network.portForwards with which it holds the port. The
	 * caller releases it. */
	json_t *published;
};
/* Finds the machine that holds the port of `forward`, an entry that could not be published. Checks
 * the running machines of the user in all state directories, but not the machine whose live
 * supervisor calls this function. Returns false without changing *out if no machine holds the
 * port. */
bool port_holder_find(const json_t *forward, struct port_holder *out);
/* Returns the entry in the workspace's config because of which the port of `forward` cannot be
 * published while the workspace runs. Returns NULL if there is no such entry. The caller releases
 * the entry. */
json_t *port_holder_entry(const struct workspace *ws, const json_t *forward);

#endif
