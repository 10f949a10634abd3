/* SPDX-License-Identifier: MIT */
/*
 * The guest control stream: the only connection that a guest opens without being asked, to host
 * port 1024. The guest's first process opens it, before any workload runs. The host accepts only
 * one such connection in each boot, so no program that runs in the guest later can pretend to be
 * the agent.
 *
 * The guest sends hello, the host answers with the config, and the guest sends ready. After that
 * the guest sends results and reports, and the host sends times and requests. The host trusts no
 * message of the guest. A frame may only be as long as the longest message that the guest may send
 * next. The type of every message is checked. Only one result is accepted. If the guest breaks
 * these rules, the stream ends, and `lost` is called.
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
	/* Called for a result. `message` belongs to the stream; only its type was checked. If the
	 * function returns -1, the stream ends as after an invalid message. */
	int (*result)(void *data, const json_t *message, struct error *err);
	/* Called for a report of the guest: CONTROL_EXEC_STARTED, CONTROL_EXEC_FINISHED,
	 * CONTROL_EXEC_LOST, CONTROL_TELEMETRY, CONTROL_TELEMETRY_STATUS. `message` and the return
	 * value have the same meaning as those of `result`. NULL: the reports are ignored. */
	int (*said)(void *data, enum control_type type, const json_t *message, struct error *err);
	/* Called for the answer to control_stream_mount(). If `why` is NULL, the guest has mounted
	 * the shares. Otherwise `why` is the reason of the failure, in the guest's words. */
	void (*mounted)(void *data, const char *why);
	/* Called for the answer to control_stream_publish(). If `why` is NULL, the guest listens
	 * for the port. Otherwise `why` is the reason of the failure, in the guest's words. */
	void (*published)(void *data, const char *why);
	/* Called when the guest reports which of the published ports have a server that listens in
	 * the guest. The guest reports this before `ready`, and after each change. A guest that
	 * cannot find it out never sends the report. NULL: the report is ignored. */
	void (*listening)(void *data, const struct control_listening *listening);
	/* Called for the answer to control_stream_quiesce(). If `why` is NULL, the machine may be
	 * saved. Otherwise `why` is the reason why it may not be saved. The function may be NULL if
	 * control_stream_quiesce() is never called. */
	void (*quiesced)(void *data, const char *why);
	/* Called for the answer to control_stream_settle(). If `why` is NULL, the guest has sent
	 * its reports. Otherwise `why` says why it could not. May be NULL if
	 * control_stream_settle() is never called. */
	void (*settled)(void *data, const char *why);
	/* Called when the guest reports that it ends the machine in order, although the host has
	 * not asked it to. NULL: the report is ignored. */
	void (*ending)(void *data);
	/* Called once, when the stream has ended. `why` is the reason, as a text for a person. If
	 * `broken` is true, the guest has broken the protocol; if it is false, the connection has
	 * ended. */
	void (*lost)(void *data, bool broken, const char *why);
	void *data;
};

/* Makes the stream. The stream closes `listen_fd`, even if the function fails. `config` is the
 * answer to the guest's hello, and is copied. `workload` is true if the guest runs a workload, so
 * that a result may come. */
struct control_stream *control_stream_new(struct loop *loop, int listen_fd, const json_t *config,
					  bool workload, const struct control_stream_events *events,
					  struct log *log, struct error *err);
/* Frees the stream. Accepts NULL. Must not be called in a function of `events`. */
void control_stream_free(struct control_stream *stream);

/* Returns true if the guest is ready and messages can be sent to it. */
bool control_stream_is_ready(const struct control_stream *stream);
/* control_stream_push_time() sends the time to a ready guest. If earlier messages are still queued,
 * it sends the time once after these messages, and then sends the time of that moment.
 * control_stream_power_off() asks a ready guest to power off. Both functions do nothing if the
 * guest is not ready. */
void control_stream_push_time(struct control_stream *stream);
void control_stream_power_off(struct control_stream *stream);
/* Asks a ready guest to mount all these shares, or none of them if one fails. Afterwards `mounted`
 * or `lost` is called. Until then this function fails with ERR_CONFLICT. */
int control_stream_mount(struct control_stream *stream, const json_t *shares, struct error *err);
/* Asks a ready guest to listen for one more published port. Afterwards `published` or `lost` is
 * called. Until then this function fails with ERR_UNAVAILABLE. */
int control_stream_publish(struct control_stream *stream, const json_t *forward, struct error *err);
/* Tells a ready guest that it no longer needs to report about the server of this port. Does nothing
 * if the guest is not ready. */
void control_stream_unpublish(struct control_stream *stream, const json_t *forward);
/* Asks a ready guest to prepare the machine for a save. If `goes_on` is true, this machine goes on
 * after the save, so the guest must take another identity if it is restored from the save.
 * Afterwards `quiesced` or `lost` is called. From `quiesced` until control_stream_go_on() the
 * guest's commands are stopped, and the guest is not told the time. */
int control_stream_quiesce(struct control_stream *stream, bool goes_on, struct error *err);
/* Lets the guest's commands go on after a save, by sending the time. The time must be sent whether
 * the save succeeded or failed. Does nothing if the commands are not stopped. If the guest has not
 * answered control_stream_quiesce() yet, does nothing, and must be called again in `quiesced`. */
void control_stream_go_on(struct control_stream *stream);
/* Asks a ready guest for the reports about its commands and its tracing that it has not sent yet.
 * `settled` is called after the guest has sent these reports, or `lost` if the stream ends. */
int control_stream_settle(struct control_stream *stream, struct error *err);

#endif
