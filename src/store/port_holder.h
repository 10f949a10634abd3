/* SPDX-License-Identifier: MIT */
/* Finding the user's machine that has a port of this host. No program of the system shows a port
 * that is held but not listened on, so the records of the machines are read. */
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
/* Looks at every running machine of the user, in any state directory. The machine whose live
 * supervisor calls this is left out. forward is an entry that could not be published. Returns false
 * if no holder is known, and leaves out unchanged then. */
bool port_holder_find(const json_t *forward, struct port_holder *out);
/* Returns the entry by which this workspace holds the port while it runs; NULL if there is none.
 * The caller releases the entry. */
json_t *port_holder_entry(const struct workspace *ws, const json_t *forward);

#endif
