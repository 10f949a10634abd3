/* SPDX-License-Identifier: MIT */
/*
 * Finds the TCP ports at which servers listen, at any address in the network namespace of this
 * process, and gets events from the kernel when these ports may have changed.
 */
#ifndef GUEST_LISTENING_H
#define GUEST_LISTENING_H

#include "base/error.h"
#include "base/port_set.h"

/* Finds the ports of this moment. On failure *out is unchanged. */
int listening_ports(struct port_set *out, struct error *err);

/* A source of events, one for every socket that begins or ends to listen, in any network namespace.
 * An event comes when the change begins, so listening_ports() may not find the change at once. */
struct listening_events;
/* Opens the source. Needs root's rights and Linux 5.8. Returns NULL with an error if the kernel has
 * no such events, or refuses them. */
struct listening_events *listening_events_open(struct error *err);
/* Returns a descriptor that is readable if something has happened since listening_events_take(). */
int listening_events_fd(const struct listening_events *events);
void listening_events_take(struct listening_events *events);
void listening_events_close(struct listening_events *events); /* accepts NULL */

#endif
