/* SPDX-License-Identifier: MIT */
/* The list of who may be reached by name. A rule keeps its number while it is on it. */
#ifndef NETGATE_NAMES_H
#define NETGATE_NAMES_H

#include "netgate/host_name.h"

struct names {
	bool used[EGRESS_NAMES_MAX];
	struct egress_rule rules[EGRESS_NAMES_MAX];
};

/* The number, also of a rule that is there already; -1: the list is full. */
int names_add(struct names *names, const struct egress_rule *rule);
/* The number that it had; -1: it was not there. */
int names_remove(struct names *names, const struct egress_rule *rule);
/* The next rule that covers the name, of that number or a higher one; -1: none does. */
int names_next(const struct names *names, const struct host_name *name, int from);

#endif
