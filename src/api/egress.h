/* SPDX-License-Identifier: MIT */
/* Puts what nat may reach by name into config.network.egress, from words and lists of words that
 * people write. */
#ifndef API_EGRESS_H
#define API_EGRESS_H

#include <jansson.h>

#include "base/error.h"
#include "microagent.h"

/* egress_lists.c: returns the words of a built-in list. A NULL ends the words. Returns NULL if
 * there is no list of that name. */
const char *const *egress_list(const char *name);

/* Adds egress to the config's network if anything of egress is asked for. */
int egress_put(json_t *network, const struct microagent_egress *egress, struct error *err);

#endif
