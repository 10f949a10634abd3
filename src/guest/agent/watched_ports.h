/* SPDX-License-Identifier: MIT */
/*
 * Tells the host at which of the published ports a server listens: a message `listening` before
 * `ready`, and one each time that the ports change. While no port is published, the agent does not
 * look at the ports.
 *
 * At an event of the kernel (listening.h) the agent looks at the ports at once, so that the host
 * knows the change as early as the program that started the server. It looks twice more, since an
 * event comes a moment before the change. However often servers come and go, the agent looks at
 * most once in LIMIT_LISTENING_MS. Without events of the kernel it looks each
 * LIMIT_LISTENING_LOOK_MS.
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
	struct port_set wanted;		 /* the published ports */
	struct port_set told;		 /* the ports of the last message */
	bool has_told;			 /* a message was sent */
	bool told_known;		 /* the last message had ports: the set `told` */
	bool asked;			 /* the agent has asked the kernel for events */
	struct listening_events *events; /* NULL: not asked for yet, or the kernel has none */
	struct loop_watch *event_watch, *timer;
	uint64_t looked_ns;
	bool fresh; /* an event has come, so the agent looks once more later */
};

void watched_ports_init(struct watched_ports *w, struct loop *loop, const struct machine *machine,
			struct framed *control);
/* Functions that add published ports, and that remove them. `publishes` is a member of a decoded
 * message of the host, or NULL. */
void watched_ports_add(struct watched_ports *w, const json_t *publishes);
void watched_ports_remove(struct watched_ports *w, const json_t *publishes);
/* Looks at the ports and tells the host. */
void watched_ports_tell(struct watched_ports *w);
/* Forgets all ports, and the message that the host got last. */
void watched_ports_reset(struct watched_ports *w);
void watched_ports_free(struct watched_ports *w);

#endif
