/* SPDX-License-Identifier: MIT */
/*
 * Which TCP ports servers listen at, in the network namespace of the caller and at whatever
 * addresses. And by which event one knows that it may be different now.
 */
#ifndef GUEST_LISTENING_H
#define GUEST_LISTENING_H

#include "base/error.h"
#include "base/port_set.h"

/* As it is now. On failure *out is as it was. */
int listening_ports(struct port_set *out, struct error *err);

/* Tells of every socket of the system that begins or ends to listen, in any network namespace. It
 * tells as it begins: whoever looks at once may be a moment too early. */
struct listening_events;
/* NULL: this kernel does not tell, or not us. Needs root's rights and Linux 5.8. */
struct listening_events *listening_events_open(struct error *err);
/* Readable when something has happened since listening_events_take(). */
int listening_events_fd(const struct listening_events *events);
void listening_events_take(struct listening_events *events);
void listening_events_close(struct listening_events *events); /* accepts NULL */

#endif
