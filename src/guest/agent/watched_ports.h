/* SPDX-License-Identifier: MIT */
/*
 * Tells the host at which of the published ports a server listens: a message `listening` before
 * `ready`, and one each time that the ports change. Nothing is looked at while no port is
 * published.
 *
 * The kernel's events say when to look. There is a look at once, so that the host knows the change
 * before the program that started the server does. Two more looks follow, since an event comes a
 * moment before the change. However often servers come and go, there is at most one look in
 * LIMIT_LISTENING_MS. Without events from the kernel there is a look each LIMIT_LISTENING_LOOK_MS.
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
	struct port_set wanted; /* the ports that the host is told of */
	struct port_set told;
	bool has_told;			 /* the host has been told anything */
	bool told_known;		 /* the host was told the set `told` */
	bool asked;			 /* events have been asked for */
	struct listening_events *events; /* NULL: not yet, or the kernel has none */
	struct loop_watch *event_watch, *timer;
	uint64_t looked_ns;
	bool fresh; /* an event has come: there is one more look later */
};

void watched_ports_init(struct watched_ports *w, struct loop *loop, const struct machine *machine,
			struct framed *control);
/* Begin and stop to tell of ports. publishes belongs to a decoded message of the host, or is
 * NULL. */
void watched_ports_add(struct watched_ports *w, const json_t *publishes);
void watched_ports_remove(struct watched_ports *w, const json_t *publishes);
/* Looks at the ports and tells the host. */
void watched_ports_tell(struct watched_ports *w);
/* Forgets all ports, and what the host was told. */
void watched_ports_reset(struct watched_ports *w);
void watched_ports_free(struct watched_ports *w);

#endif
