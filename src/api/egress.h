/* SPDX-License-Identifier: MIT */
/* Makes config.network.egress from the words and the files with words that users write.
 * config.network.egress has the names that a machine on nat may reach. */
#ifndef API_EGRESS_H
#define API_EGRESS_H

#include <jansson.h>

#include "base/error.h"
#include "microagent.h"

/* Returns the words of a built-in list; the last element is NULL. Returns NULL if no list has that
 * name. Defined in egress_lists.c. */
const char *const *egress_list(const char *name);

/* Puts "egress" into `network`, the network of a config, if any member of `egress` is set. */
int egress_put(json_t *network, const struct microagent_egress *egress, struct error *err);

#endif
