/* SPDX-License-Identifier: MIT */
/* The name of a host, in lower case with dots between its labels. Names are compared and shown in
 * this form. */
#ifndef NETGATE_HOST_NAME_H
#define NETGATE_HOST_NAME_H

#include <stdbool.h>

#include "base/egress_rule.h"
#include "netgate/bytes.h"

#define HOST_NAME_NO_LETTER '?'

struct host_name {
	uint8_t len; /* the length of `text` in bytes; 0: the root of DNS */
	char text[EGRESS_NAME_MAX + 1];
};

/* Appends one label. A byte that no rule can contain is stored as '?'; no rule matches such a name.
 * Returns false if the name would be too long. */
bool host_name_add_label(struct host_name *name, struct bytes label);
/* Makes a name of the text of a protocol (TLS, HTTP). Returns false if no rule could match the
 * text. */
bool host_name_take(struct host_name *name, struct bytes text);
bool host_name_equal(const struct host_name *a, const struct host_name *b);

#endif
