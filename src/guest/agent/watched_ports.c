/* SPDX-License-Identifier: MIT */
#include "guest/agent/watched_ports.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "guest/agent/agent.h"
#include "guest/agent/answer.h"
#include "guest/machine/listening.h"

/* The port number 0 publishes all ports, as microagent-oci does. A port that is published in this
 * way is not watched. */
#define ANY_PORT 0

static bool is_watching(const struct watched_ports *w)
{
	return port_set_count(&w->wanted) > 0;
}

/* --- what is told ---------------------------------------------------------------------------- */

/* Returns true if the last message to the host had exactly these ports. `ports` is NULL if the
 * agent could not find the ports. */
static bool is_told(const struct watched_ports *w, const struct port_set *ports)
{
	if (!w->has_told || w->told_known != (ports != NULL))
		return false;
	return !ports || memcmp(ports, &w->told, sizeof(*ports)) == 0;
}

/* Finds the ports on which servers listen, and tells the host if they have changed. Returns false
 * if the host has not read the earlier messages. The caller must then try again later. */
static bool look(struct watched_ports *w)
{
	struct port_set ports;
	struct error err;
	bool known = w->machine->listening(&ports, &err) == 0;
	autofree char *text = NULL;

	if (known)
		port_set_keep(&ports, &w->wanted);
	w->looked_ns = clock_mono_ns();
	if (!framed_is_open(w->control) || is_told(w, known ? &ports : NULL))
		return true;
	if (framed_is_full(w->control))
		return false;
	text = answer_listening(known ? &ports : NULL, NULL);
	if (!text || framed_send(w->control, text, NULL) < 0)
		return true;
	w->has_told = true;
	w->told_known = known;
	if (known)
		w->told = ports;
	return true;
}

/* --- when it is looked at -------------------------------------------------------------------- */

static void on_look_due(struct loop *loop, void *data);

static void look_at(struct watched_ports *w, uint64_t when_ns)
{
	loop_remove(w->timer);
	w->timer = loop_add_timer(w->loop, when_ns, on_look_due, w, NULL);
}

static uint64_t soonest(const struct watched_ports *w)
{
	return w->looked_ns + limit_get(LIMIT_LISTENING_MS) * NS_PER_MS;
}

static void on_listening_event(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct watched_ports *w = data;

	(void)loop;
	(void)fd;
	(void)events;
	listening_events_take(w->events);
	w->fresh = true;
	if (clock_mono_ns() >= soonest(w))
		(void)look(w);
	look_at(w, soonest(w));
}

static void on_look_due(struct loop *loop, void *data)
{
	struct watched_ports *w = data;
	struct error err;
	bool again;

	(void)loop;
	w->timer = NULL;
	if (!w->asked) {
		w->asked = true;
		w->events = w->machine->listening_events(&err);
	}
	if (w->events && !w->event_watch)
		w->event_watch = loop_add_fd(w->loop, listening_events_fd(w->events), LOOP_IN,
					     on_listening_event, w, NULL);
	again = !look(w) || !w->event_watch || w->fresh;
	w->fresh = false;
	if (again)
		look_at(w, limit_deadline(LIMIT_LISTENING_LOOK_MS));
}

/* ---------------------------------------------------------------------------------------------- */

void watched_ports_tell(struct watched_ports *w)
{
	if (!is_watching(w))
		return;
	(void)look(w);
	/* Asks the kernel for events only at the next look, since the host is now waiting for
	 * `ready`. */
	look_at(w, limit_deadline(LIMIT_LISTENING_LOOK_MS));
}

static uint16_t published_port(const json_t *item)
{
	return (uint16_t)json_integer_value(json_object_get(item, "guestPort"));
}

void watched_ports_add(struct watched_ports *w, const json_t *publishes)
{
	for (size_t i = 0; i < json_array_size(publishes); i++) {
		uint16_t port = published_port(json_array_get(publishes, i));

		if (port != ANY_PORT)
			port_set_add(&w->wanted, port);
	}
}

static void stop_looking(struct watched_ports *w)
{
	loop_remove(steal_ptr(&w->timer));
	loop_remove(steal_ptr(&w->event_watch));
}

void watched_ports_remove(struct watched_ports *w, const json_t *publishes)
{
	for (size_t i = 0; i < json_array_size(publishes); i++) {
		uint16_t port = published_port(json_array_get(publishes, i));

		port_set_remove(&w->wanted, port);
		/* The host itself forgets a port that is no longer published, so the agent does not
		 * report this change. */
		port_set_remove(&w->told, port);
	}
	if (!is_watching(w))
		stop_looking(w);
}

void watched_ports_reset(struct watched_ports *w)
{
	stop_looking(w);
	w->wanted = (struct port_set){0};
	w->told = (struct port_set){0};
	w->has_told = false;
}

void watched_ports_init(struct watched_ports *w, struct loop *loop, const struct machine *machine,
			struct framed *control)
{
	*w = (struct watched_ports){.loop = loop, .machine = machine, .control = control};
}

void watched_ports_free(struct watched_ports *w)
{
	stop_looking(w);
	listening_events_close(steal_ptr(&w->events));
}
