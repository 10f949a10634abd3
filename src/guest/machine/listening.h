/* SPDX-License-Identifier: MIT */
/*
 * Finds the TCP ports on which servers listen, on any address in the network namespace of this
 * process. Also gets events from the kernel when these ports may have changed.
 */
#ifndef GUEST_LISTENING_H
#define GUEST_LISTENING_H

#include "base/error.h"
#include "base/port_set.h"

/* Finds the ports on which servers listen now. Returns 0, or -1 with err set and *out unchanged. */
int listening_ports(struct port_set *out, struct error *err);

/* A source of events. There is an event each time that a socket in any network namespace starts or
 * stops listening. The event comes at the beginning of the change, so listening_ports() may not see
 * the change yet. */
struct listening_events;
/* Opens the source of events. Needs root's rights and Linux 5.8. Returns NULL with err set if the
 * kernel has no such events, or does not allow this process to get them. */
struct listening_events *listening_events_open(struct error *err);
/* Returns a file descriptor that is readable if an event has come since the last call of
 * listening_events_take(). The caller must not close it. */
int listening_events_fd(const struct listening_events *events);
void listening_events_take(struct listening_events *events);
void listening_events_close(struct listening_events *events); /* accepts NULL */

#endif
