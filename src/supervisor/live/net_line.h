/* SPDX-License-Identifier: MIT */
/*
 * Turns a line of netgate (netgate/tell.h) into an event of the audit log. netgate reads what a
 * guest writes, so an attacker may control netgate, and the line may have any contents. A line of
 * an unknown form becomes the event "net.unlisted", whose data is the whole line.
 */
#ifndef SUPERVISOR_NET_LINE_H
#define SUPERVISOR_NET_LINE_H

#include <jansson.h>
#include <stdbool.h>

struct net_event {
	const char *name; /* the name of the event, for example "net.refused" */
	bool warning;
	json_t *data; /* the data of the event, which the caller releases; NULL: there was no
		       * memory */
};

struct net_event net_line_read(const char *line);

#endif
