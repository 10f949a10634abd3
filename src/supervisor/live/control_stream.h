/* SPDX-License-Identifier: MIT */
/*
 * The guest control stream: the one connection that a guest opens by itself, to host port 1024. The
 * guest's first process opens it, before any workload. It is accepted once per boot, so nothing
 * that runs in the guest later can speak as the agent.
 *
 * The order is hello, (config), ready, then results, times and power. Everything that the guest
 * sends is hostile. The size of a frame is bounded by what may come next, every type is checked,
 * and a result is taken once. A breach ends the stream, which is then `lost`.
 */
#ifndef SUPERVISOR_CONTROL_STREAM_H
#define SUPERVISOR_CONTROL_STREAM_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "supervisor/live/control_message.h"

struct control_stream;

struct control_stream_events {
	void (*hello)(void *data, const struct control_hello *hello);
	void (*ready)(void *data);
	/* The guest has sent a result. message is borrowed; its type is right, and nothing else is
	 * checked. -1 refuses the message, which ends the stream. */
	int (*result)(void *data, const json_t *message, struct error *err);
	/* The guest says something about itself: CONTROL_EXEC_STARTED, CONTROL_EXEC_FINISHED,
	 * CONTROL_TELEMETRY, CONTROL_TELEMETRY_STATUS. message and return value are as for result.
	 * NULL: the owner does not want these messages. */
	int (*said)(void *data, enum control_type type, const json_t *message, struct error *err);
	/* The answer to control_stream_mount(). why: what went wrong, in the guest's words, or
	 * NULL. */
	void (*mounted)(void *data, const char *why);
	void (*published)(void *data, const char *why); /* answer to control_stream_publish() */
	/* The guest says which of the published ports have a server in it: before `ready`, and
	 * after each change. A guest that cannot tell may never say it. NULL: the owner does not
	 * want to know. */
	void (*listening)(void *data, const struct control_listening *listening);
	/* The answer to control_stream_quiesce(). why: what stands in the way, or NULL if the
	 * machine may be saved. The function is NULL if the owner never asks for it. */
	void (*quiesced)(void *data, const char *why);
	void (*settled)(void *data, const char *why); /* answer to control_stream_settle() */
	/* The guest ends the machine in order, by its own wish. NULL: the owner does not want to
	 * know. */
	void (*ending)(void *data);
	/* The stream has ended. why is a text for a person. Called once. broken: a breach of the
	 * protocol ended the stream, and not the end of the connection. */
	void (*lost)(void *data, bool broken, const char *why);
	void *data;
};

/* Makes the stream. Takes over listen_fd. config: what the guest is sent after its hello (the
 * reference stays the caller's). workload: a result may come. */
struct control_stream *control_stream_new(struct loop *loop, int listen_fd, const json_t *config,
					  bool workload, const struct control_stream_events *events,
					  struct log *log, struct error *err);
void control_stream_free(struct control_stream *stream); /* accepts NULL; not in a callback */

/* Returns whether the guest is ready and can get messages. */
bool control_stream_is_ready(const struct control_stream *stream);
/* Tell a ready guest the time, or to power off; do nothing if no guest is ready. If older messages
 * wait, the time is sent after them, once, and is the time of the sending. */
void control_stream_push_time(struct control_stream *stream);
void control_stream_power_off(struct control_stream *stream);
/* Asks a ready guest to mount shares, all or none. `mounted` follows, or `lost`. One call at a
 * time. */
int control_stream_mount(struct control_stream *stream, const json_t *shares, struct error *err);
/* Asks a ready guest to listen for one more published port. `published` follows, or `lost`. One
 * call at a time. */
int control_stream_publish(struct control_stream *stream, const json_t *forward, struct error *err);
/* Tells a ready guest that it need no longer say whether a server listens on the port. Does nothing
 * if no guest is ready. */
void control_stream_unpublish(struct control_stream *stream, const json_t *forward);
/* Asks a ready guest to get the machine ready to be saved. goes_on: the machine goes on after that,
 * and the guest must know that the machine that comes back is another one. `quiesced` follows, or
 * `lost`. */
int control_stream_quiesce(struct control_stream *stream, bool goes_on, struct error *err);
/* Asks a ready guest to tell what it has not told yet about its commands and about what was traced.
 * `settled` follows after all of that, or `lost`. */
int control_stream_settle(struct control_stream *stream, struct error *err);

#endif
