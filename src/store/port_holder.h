/* SPDX-License-Identifier: MIT */
/* Which of the user's machines has a port of this host. A port that is held and not listened on is
 * shown by no program of the system's, so the records of the machines are asked. */
#ifndef STORE_PORT_HOLDER_H
#define STORE_PORT_HOLDER_H

#include <jansson.h>
#include <stdbool.h>

#include "store/store.h"

struct port_holder {
	char workspace[512]; /* in words, with its state directory */
	json_t *published; /* its own entry of config.network.portForwards, for the caller to release */
};
/* Looks at every machine of the user's that runs, whatever its state directory, but for the one
 * whose live supervisor asks. forward: an entry that could not be published. false: none is known,
 * and out is as it was. */
bool port_holder_find(const json_t *forward, struct port_holder *out);
/* The entry by which this workspace holds the port while it runs, for the caller to release; NULL:
 * there is none. */
json_t *port_holder_entry(const struct workspace *ws, const json_t *forward);

#endif
