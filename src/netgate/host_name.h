/* SPDX-License-Identifier: MIT */
/* The name of a host as it is compared and told: in lower case, with dots between its labels. */
#ifndef NETGATE_HOST_NAME_H
#define NETGATE_HOST_NAME_H

#include <stdbool.h>

#include "base/egress_rule.h"
#include "netgate/bytes.h"

#define HOST_NAME_NO_LETTER '?'

struct host_name {
	uint8_t len; /* 0: the root */
	char text[EGRESS_NAME_MAX + 1];
};

/* One label more, whatever bytes it is of: one that no rule has becomes a '?', and the name is on
 * no list. False: it would be too long. */
bool host_name_add_label(struct host_name *name, struct bytes label);
/* From text, as protocols have it; false for what no rule could have. */
bool host_name_take(struct host_name *name, struct bytes text);
bool host_name_equal(const struct host_name *a, const struct host_name *b);

#endif
