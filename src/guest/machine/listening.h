/* SPDX-License-Identifier: MIT */
/*
 * Finds the TCP ports at which servers listen, in the caller's network namespace and at any
 * address, and the event that says when this may have changed.
 */
#ifndef GUEST_LISTENING_H
#define GUEST_LISTENING_H

#include "base/error.h"
#include "base/port_set.h"

/* Finds the ports of this moment. On failure *out is unchanged. */
int listening_ports(struct port_set *out, struct error *err);

/* Events for every socket of the system that begins or ends to listen, in any network namespace. An
 * event comes as the change begins: a look at once may be a moment too early. */
struct listening_events;
/* Returns NULL if the kernel has no such events, or refuses them. Needs root's rights and Linux
 * 5.8. */
struct listening_events *listening_events_open(struct error *err);
/* Returns a descriptor that is readable if something has happened since listening_events_take(). */
int listening_events_fd(const struct listening_events *events);
void listening_events_take(struct listening_events *events);
void listening_events_close(struct listening_events *events); /* accepts NULL */

#endif
