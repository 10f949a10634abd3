/* SPDX-License-Identifier: MIT */
/*
 * Turns a line of netgate (netgate/tell.h) into an event of the audit log. netgate reads what a
 * guest writes and may have been taken over, so the line may be anything. A line of no known form
 * gives the event "net.unlisted", which has the line itself.
 */
#ifndef SUPERVISOR_NET_LINE_H
#define SUPERVISOR_NET_LINE_H

#include <jansson.h>
#include <stdbool.h>

struct net_event {
	const char *name; /* "net.refused" */
	bool warning;
	json_t *data; /* the caller releases it; NULL: there was no memory */
};

struct net_event net_line_read(const char *line);

#endif
