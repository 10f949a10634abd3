/* SPDX-License-Identifier: MIT */
/* The list of names that the guest may reach. A rule keeps its number while it is on the list. */
#ifndef NETGATE_NAMES_H
#define NETGATE_NAMES_H

#include "netgate/host_name.h"

struct names {
	bool used[EGRESS_NAMES_MAX];
	struct egress_rule rules[EGRESS_NAMES_MAX];
};

/* Adds a rule. Returns its number. If the list already has the rule, returns the number that the
 * rule has. Returns -1 if the list is full. */
int names_add(struct names *names, const struct egress_rule *rule);
/* Removes a rule. Returns the number that the rule had; -1 if the rule was not on the list. */
int names_remove(struct names *names, const struct egress_rule *rule);
/* Returns the lowest number, not below `from`, of a rule that covers the name; -1 if there is no
 * such rule. */
int names_next(const struct names *names, const struct host_name *name, int from);

#endif
