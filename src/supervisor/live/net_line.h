/* SPDX-License-Identifier: MIT */
/*
 * Turns a line of netgate's (netgate/tell.h) into an event of the audit log. netgate reads what a
 * guest writes. So any line is allowed here; it becomes an event, or none.
 */
#ifndef SUPERVISOR_NET_LINE_H
#define SUPERVISOR_NET_LINE_H

#include <jansson.h>
#include <stdbool.h>

struct net_event {
	const char *name; /* "net.refused" */
	bool warning;
	json_t *data; /* new reference; NULL without memory */
};

struct net_event net_line_read(const char *line);

#endif
