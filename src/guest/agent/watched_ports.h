/* SPDX-License-Identifier: MIT */
/*
 * Tells the host on which of the published ports a server listens. The agent sends a message
 * `listening` before `ready`, and another each time that the ports change. While no port is
 * published, the agent does not look at the ports.
 *
 * The kernel reports events about ports (listening.h). At an event the agent looks at the ports at
 * once, so that the host knows the change as early as the program that started the server. The
 * agent looks twice more, since the event may come a moment before the change. The agent never
 * looks more than once in LIMIT_LISTENING_MS milliseconds. If the kernel reports no events, the
 * agent looks once in LIMIT_LISTENING_LOOK_MS milliseconds.
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
	struct port_set wanted; /* the published ports */
	struct port_set told;	/* the ports in the last message to the host */
	bool has_told;		/* a message `listening` was sent to the host */
	/* The agent knew the ports when it sent the last message, and `told` has these ports. */
	bool told_known;
	bool asked; /* the agent has asked the kernel for events */
	/* The kernel's events about ports. NULL: the agent has not asked for them yet, or the
	 * kernel does not report them. */
	struct listening_events *events;
	struct loop_watch *event_watch, *timer;
	uint64_t looked_ns;
	bool fresh; /* an event has come, and the agent must look once more later */
};

void watched_ports_init(struct watched_ports *w, struct loop *loop, const struct machine *machine,
			struct framed *control);
/* Functions that add ports to the published ports, and remove them. `publishes` is a member of a
 * decoded message of the host, or NULL. */
void watched_ports_add(struct watched_ports *w, const json_t *publishes);
void watched_ports_remove(struct watched_ports *w, const json_t *publishes);
/* Finds the ports on which servers listen now, and tells the host. */
void watched_ports_tell(struct watched_ports *w);
/* Forgets all ports, and what the last message to the host was. */
void watched_ports_reset(struct watched_ports *w);
void watched_ports_free(struct watched_ports *w);

#endif
