/* SPDX-License-Identifier: MIT */
/* Makes config.network.egress from the words and the lists of words that people write.
 * config.network.egress says which hosts a machine on nat may reach by name. */
#ifndef API_EGRESS_H
#define API_EGRESS_H

#include <jansson.h>

#include "base/error.h"
#include "microagent.h"

/* In egress_lists.c: returns the words of a built-in list, NULL-terminated. Returns NULL if no list
 * has that name. */
const char *const *egress_list(const char *name);

/* Puts "egress" into `network`, the network of a config, if any member of `egress` is set. */
int egress_put(json_t *network, const struct microagent_egress *egress, struct error *err);

#endif
