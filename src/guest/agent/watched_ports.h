/* SPDX-License-Identifier: MIT */
/*
 * Tells the host at which of the published ports a server listens: a message `listening` before
 * `ready`, and one each time that it is different. Nothing is looked at while no port is published.
 *
 * The kernel's events say when to look. It is looked at once, so that the host knows it before
 * whoever started the server does, and twice more, since an event comes a moment before what it is
 * about. However often servers come and go, there is one look in LIMIT_LISTENING_MS. A kernel that
 * tells of no events is looked at each LIMIT_LISTENING_LOOK_MS.
 */
#ifndef GUEST_WATCHED_PORTS_H
#define GUEST_WATCHED_PORTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/framed.h"
#include "base/loop.h"
#include "base/port_set.h"

struct machine;
struct listening_events;

struct watched_ports {
	struct loop *loop;
	const struct machine *machine;
	struct framed *control;
	struct port_set wanted; /* of them the host is told */
	struct port_set told;
	bool has_told;			 /* anything */
	bool told_known;		 /* and it was `told` */
	bool asked;			 /* for events */
	struct listening_events *events; /* NULL: not yet, or the kernel has none */
	struct loop_watch *event_watch, *timer;
	uint64_t looked_ns;
	bool fresh; /* an event has come: it is looked at once more, later */
};

void watched_ports_init(struct watched_ports *w, struct loop *loop, const struct machine *machine,
			struct framed *control);
/* publishes: of a message of the host that was decoded, or NULL. Each is to be told of from now on;
 * and no longer. */
void watched_ports_add(struct watched_ports *w, const json_t *publishes);
void watched_ports_remove(struct watched_ports *w, const json_t *publishes);
/* Looks and tells. */
void watched_ports_tell(struct watched_ports *w);
/* Forgets all ports, and what the host was told. */
void watched_ports_reset(struct watched_ports *w);
void watched_ports_free(struct watched_ports *w);

#endif
