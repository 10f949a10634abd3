/* SPDX-License-Identifier: MIT */
/* What nat may reach by name: words of people, and lists of them, into config.network.egress. */
#ifndef API_EGRESS_H
#define API_EGRESS_H

#include <jansson.h>

#include "base/error.h"
#include "microagent.h"

/* egress_lists.c: the words of one of ours, NULL-terminated; NULL: there is none of that name. */
const char *const *egress_list(const char *name);

/* Adds egress to the config's network where anything of it is asked for. */
int egress_put(json_t *network, const struct microagent_egress *egress, struct error *err);

#endif
