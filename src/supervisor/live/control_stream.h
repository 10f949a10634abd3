/* SPDX-License-Identifier: MIT */
/*
 * The guest control stream: the one connection that a guest opens by itself, to host port 1024,
 * from its first process and before any workload. It is accepted once per boot, so nothing that
 * runs in the guest later can speak as the agent.
 *
 * Order: hello, (config), ready, then results, times and power. Whatever the guest sends is
 * hostile: frames are bounded by what may come next, every type is checked, the result is taken
 * once. A breach ends the stream, which is then `lost`.
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
	/* The message, borrowed, of the right type but otherwise unchecked. -1 refuses it, which
	 * breaks the stream. */
	int (*result)(void *data, const json_t *message, struct error *err);
	/* What the guest says of itself: CONTROL_EXEC_STARTED, CONTROL_EXEC_FINISHED,
	 * CONTROL_TELEMETRY, CONTROL_TELEMETRY_STATUS. As of result. NULL: nobody wants to know. */
	int (*said)(void *data, enum control_type type, const json_t *message, struct error *err);
	/* The answer to control_stream_mount(); why: what went wrong, in the guest's words, or
	 * NULL. */
	void (*mounted)(void *data, const char *why);
	void (*published)(void *data, const char *why); /* the same, to control_stream_publish() */
	/* Which of the published ports have a server in the guest: before `ready`, and after each
	 * change. A guest that cannot tell may never say it. NULL: nobody wants to know. */
	void (*listening)(void *data, const struct control_listening *listening);
	/* The answer to control_stream_quiesce(); why: what stands in the way, or NULL: it may be
	 * saved. NULL: it is never asked for. */
	void (*quiesced)(void *data, const char *why);
	void (*settled)(void *data, const char *why); /* the same, to control_stream_settle() */
	/* The guest ends the machine in order: what follows is its own wish. NULL: nobody wants to
	 * know. */
	void (*ending)(void *data);
	/* The stream has ended; why is for a person. Called once. broken: by a breach of the
	 * protocol and not by the end of the connection. */
	void (*lost)(void *data, bool broken, const char *why);
	void *data;
};

/* listen_fd becomes the stream's own. config is what the guest is sent after its hello (the
 * reference is the caller's); workload: a result may come. */
struct control_stream *control_stream_new(struct loop *loop, int listen_fd, const json_t *config,
					  bool workload, const struct control_stream_events *events,
					  struct log *log, struct error *err);
void control_stream_free(struct control_stream *stream); /* accepts NULL; not in a callback */

/* The guest is ready and can be told things. */
bool control_stream_is_ready(const struct control_stream *stream);
/* Both do nothing without a ready guest. While older messages wait the time is told behind them,
 * once, and is then that of the telling. */
void control_stream_push_time(struct control_stream *stream);
void control_stream_power_off(struct control_stream *stream);
/* Has a ready guest mount shares, all or none; `mounted` follows, or `lost`. One call at a time. */
int control_stream_mount(struct control_stream *stream, const json_t *shares, struct error *err);
/* Has a ready guest listen for one more published port; `published` follows, or `lost`. One at a
 * time. */
int control_stream_publish(struct control_stream *stream, const json_t *forward, struct error *err);
/* A ready guest need no longer tell whether anybody listens on the port. Nothing without one. */
void control_stream_unpublish(struct control_stream *stream, const json_t *forward);
/* Has a ready guest make the machine fit to be saved, and if it goes on after that, know that what
 * comes back is another one; `quiesced` follows, or `lost`. */
int control_stream_quiesce(struct control_stream *stream, bool goes_on, struct error *err);
/* Has a ready guest tell what it has not told yet of the commands in it and of what was traced;
 * `settled` follows behind all of that, or `lost`. */
int control_stream_settle(struct control_stream *stream, struct error *err);

#endif
