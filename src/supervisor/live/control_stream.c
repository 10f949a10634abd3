/* SPDX-License-Identifier: MIT */
#include "supervisor/live/control_stream.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/framed.h"
#include "base/json.h"

/* The phases of the stream. The phase decides which messages the guest may send next. */
enum phase {
	PHASE_LISTENING,  /* the guest has not connected yet */
	PHASE_HELLO,	  /* the guest has connected, and its hello must come next */
	PHASE_CONFIGURED, /* the guest has the config, and its "ready" must come next */
	PHASE_READY,	  /* the guest is ready; if it has a workload, a result may come */
	PHASE_DONE,	  /* the result has come */
	PHASE_LOST	  /* the stream has ended */
};

struct control_stream {
	struct loop *loop;
	struct log *log;
	int listen_fd;
	struct loop_watch *listening;
	struct framed guest;
	enum phase phase;
	bool workload;
	bool time_due; /* the time must be sent when the messages that are now queued have been
		        * sent */
	/* Each is true while the guest has not yet answered the message of this kind. */
	bool mounting, publishing, quiescing, settling;
	/* The guest has stopped its commands until the host sends the time. */
	bool resting;
	json_t *config; /* the config, until it is sent; then NULL */
	struct control_stream_events events;
};

static void stop_listening(struct control_stream *stream)
{
	loop_remove(steal_ptr(&stream->listening));
	if (stream->listen_fd >= 0)
		close(steal_fd(&stream->listen_fd));
}

static void control_lose(struct control_stream *stream, bool broken, const char *why)
{
	if (stream->phase == PHASE_LOST)
		return;
	stream->phase = PHASE_LOST;
	stop_listening(stream);
	framed_close(&stream->guest);
	stream->events.lost(stream->events.data, broken, why);
}

static void break_off(struct control_stream *stream, const struct error *err)
{
	control_lose(stream, true, err->msg);
}

/* --- messages to the guest ------------------------------------------------------------------- */

/* Queues a message, and sends as much of the queue as the socket accepts. Releases the message,
 * even on an error. */
static int control_post(struct control_stream *stream, json_t *message, struct error *err)
{
	json_auto_t *owned = message;
	autofree char *text = owned ? json_line(owned, err) : NULL;

	return text ? framed_send(&stream->guest, text, err) : -1;
}

/* --- messages from the guest ----------------------------------------------------------------- */

static size_t frame_limit(const struct control_stream *stream)
{
	return stream->phase == PHASE_READY && stream->workload ? control_result_max()
								: CONTROL_SMALL_MAX;
}

static int on_hello(struct control_stream *stream, const json_t *message, struct error *err)
{
	struct control_hello hello;

	if (stream->phase != PHASE_HELLO)
		return error_set(
			err, ERR_INVALID,
			"the guest sent the message \"hello\" at the wrong time: this is a bug, or the guest attacks its host");
	if (control_read_hello(message, &hello, err) < 0)
		return -1;
	stream->phase = PHASE_CONFIGURED;
	stream->events.hello(stream->events.data, &hello);
	if (control_stamp(stream->config, err) < 0)
		return -1;
	return control_post(stream, steal_ptr(&stream->config), err);
}

/* Handles the guest's answer to a question. The answer has a reason if the guest could not do what
 * the question asks for. *due is true while the question is not answered; at most one question of
 * each kind is open at a time. */
static int on_answer(struct control_stream *stream, bool *due, const json_t *message,
		     void (*tell)(void *data, const char *why), const char *name, struct error *err)
{
	const char *why = NULL;

	if (!*due)
		return error_set(
			err, ERR_INVALID,
			"the guest sent the message \"%s\" at the wrong time: this is a bug, or the guest attacks its host",
			name);
	if (json_get_string(message, name, "error", JSON_OPTIONAL, &why, err) < 0)
		return -1;
	*due = false;
	tell(stream->events.data, why);
	return 0;
}

static int on_listening(struct control_stream *stream, const json_t *message, struct error *err)
{
	struct control_listening listening;

	if (stream->phase == PHASE_HELLO)
		return error_set(
			err, ERR_INVALID,
			"the guest sent the message \"listening\" at the wrong time: this is a bug, or the guest attacks its host");
	if (control_read_listening(message, &listening, err) < 0)
		return -1;
	if (stream->events.listening)
		stream->events.listening(stream->events.data, &listening);
	return 0;
}

static int take_message(struct control_stream *stream, const uint8_t *payload, size_t len,
			struct error *err)
{
	enum control_type type;
	json_auto_t *message = control_decode(payload, len, &type, err);

	if (!message)
		return -1;
	switch (type) {
	case CONTROL_HELLO:
		return on_hello(stream, message, err);
	case CONTROL_READY:
		if (stream->phase != PHASE_CONFIGURED)
			return error_set(
				err, ERR_INVALID,
				"the guest sent the message \"ready\" at the wrong time: this is a bug, or the guest attacks its host");
		stream->phase = PHASE_READY;
		stream->events.ready(stream->events.data);
		return 0;
	case CONTROL_RESULT:
		if (stream->phase != PHASE_READY || !stream->workload)
			return error_set(
				err, ERR_INVALID,
				"the guest sent the message \"result\" at the wrong time: this is a bug, or the guest attacks its host");
		stream->phase = PHASE_DONE;
		return stream->events.result(stream->events.data, message, err);
	case CONTROL_EXEC_STARTED:
	case CONTROL_EXEC_FINISHED:
	case CONTROL_EXEC_LOST:
	case CONTROL_TELEMETRY:
	case CONTROL_TELEMETRY_STATUS:
		if (!control_stream_is_ready(stream))
			return error_set(
				err, ERR_INVALID,
				"the guest sent a report before it was ready: this is a bug, or the guest attacks its host");
		return stream->events.said
			       ? stream->events.said(stream->events.data, type, message, err)
			       : 0;
	case CONTROL_MOUNTED:
		return on_answer(stream, &stream->mounting, message, stream->events.mounted,
				 "mounted", err);
	case CONTROL_PUBLISHED:
		return on_answer(stream, &stream->publishing, message, stream->events.published,
				 "published", err);
	case CONTROL_LISTENING:
		return on_listening(stream, message, err);
	case CONTROL_QUIESCED:
		return on_answer(stream, &stream->quiescing, message, stream->events.quiesced,
				 "quiesced", err);
	case CONTROL_SETTLED:
		return on_answer(stream, &stream->settling, message, stream->events.settled,
				 "settled", err);
	case CONTROL_ENDING:
		if (stream->phase == PHASE_HELLO)
			return error_set(
				err, ERR_INVALID,
				"the guest sent the message \"ending\" at the wrong time: this is a bug, or the guest attacks its host");
		if (stream->events.ending)
			stream->events.ending(stream->events.data);
		return 0;
	case CONTROL_UNKNOWN:
		log_limited(stream->log, "control stream: the type of a message is not known");
		break;
	}
	return 0;
}

static int on_frame(void *data, const uint8_t *payload, size_t len, struct error *err)
{
	struct control_stream *stream = data;

	if (take_message(stream, payload, len, err) < 0)
		return -1;
	stream->guest.most = frame_limit(stream);
	return 1;
}

static void on_guest_input(void *data)
{
	struct control_stream *stream = data;
	struct error err = {0};

	if (framed_take(&stream->guest, on_frame, stream, &err) < 0)
		break_off(stream, &err);
	else if (stream->guest.ended)
		control_lose(stream, false, "the connection ended");
}

static void on_guest_lost(void *data, const char *why)
{
	control_lose(data, false, why);
}

static void on_guest_drained(void *data)
{
	struct control_stream *stream = data;

	if (stream->time_due)
		control_stream_push_time(stream);
}

static const struct framed_owner guest_owner = {
	.input = on_guest_input,
	.drained = on_guest_drained,
	.lost = on_guest_lost,
	/* The guest may have sent its result just before the connection ended. So everything that
	 * it has sent is read before the end is handled. */
	.hears_out = true,
};

/* Accepts the first connection, which is the guest's, and closes the listener: no second connection
 * is accepted in this boot. */
static void on_guest_dials(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct control_stream *stream = data;
	struct error err = {0};
	int peer = sock_accept(fd, &err);

	(void)events;
	if (peer < 0) {
		if (err.code != ERR_UNAVAILABLE)
			break_off(stream, &err);
		return;
	}
	stop_listening(stream);
	stream->phase = PHASE_HELLO;
	if (framed_open(&stream->guest, loop, peer, frame_limit(stream), &guest_owner, stream,
			&err) < 0) {
		close(peer);
		break_off(stream, &err);
	}
}

/* --- making and freeing ----------------------------------------------------------------------- */

struct control_stream *control_stream_new(struct loop *loop, int listen_fd, const json_t *config,
					  bool workload, const struct control_stream_events *events,
					  struct log *log, struct error *err)
{
	struct control_stream *stream = calloc(1, sizeof(*stream));

	if (!stream) {
		close(listen_fd);
		error_set(err, ERR_IO, "out of memory");
		return NULL;
	}
	stream->loop = loop;
	stream->log = log;
	stream->listen_fd = listen_fd;
	stream->guest.fd = -1;
	stream->workload = workload;
	stream->config = json_deep_copy(config);
	stream->events = *events;
	stream->listening = loop_add_fd(loop, listen_fd, LOOP_IN, on_guest_dials, stream, err);
	if (!stream->listening) {
		control_stream_free(stream);
		return NULL;
	}
	return stream;
}

void control_stream_free(struct control_stream *stream)
{
	if (!stream)
		return;
	stop_listening(stream);
	framed_close(&stream->guest);
	json_decref(stream->config);
	free(stream);
}

bool control_stream_is_ready(const struct control_stream *stream)
{
	return stream && (stream->phase == PHASE_READY || stream->phase == PHASE_DONE);
}

void control_stream_push_time(struct control_stream *stream)
{
	struct error err = {0};

	if (stream && stream->resting)
		return;
	/* While the guest does not read, no further times are queued. When the guest reads again,
	 * it gets only the time of that moment. */
	if (stream)
		stream->time_due = stream->guest.out.len > 0;
	if (!control_stream_is_ready(stream) || stream->time_due)
		return;
	if (control_post(stream, control_time(&err), &err) < 0)
		break_off(stream, &err);
}

void control_stream_power_off(struct control_stream *stream)
{
	struct error err = {0};

	if (!control_stream_is_ready(stream))
		return;
	if (control_post(stream, control_power_off(&err), &err) < 0)
		break_off(stream, &err);
}

static int require_ready(const struct control_stream *stream, struct error *err)
{
	if (control_stream_is_ready(stream))
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"the guest is not ready yet, or has ended: try again when the machine is ready");
}

int control_stream_mount(struct control_stream *stream, const json_t *shares, struct error *err)
{
	if (require_ready(stream, err) < 0)
		return -1;
	if (stream->mounting)
		return error_set(
			err, ERR_CONFLICT,
			"the guest is mounting other directories: try again when it has done so");
	if (control_post(stream, control_mount(shares, err), err) < 0)
		return -1;
	stream->mounting = true;
	return 0;
}

int control_stream_publish(struct control_stream *stream, const json_t *forward, struct error *err)
{
	if (require_ready(stream, err) < 0)
		return -1;
	/* The live supervisor has stopped waiting for the answer to an earlier question. The
	 * earlier answer may still come, and could be mistaken for the answer to the new
	 * question. */
	if (stream->publishing)
		return error_set(
			err, ERR_UNAVAILABLE,
			"the guest has not answered the request for an earlier port yet: try again in a few seconds");
	if (control_post(stream, control_publish(forward, err), err) < 0)
		return -1;
	stream->publishing = true;
	return 0;
}

void control_stream_unpublish(struct control_stream *stream, const json_t *forward)
{
	struct error err = {0};

	if (!control_stream_is_ready(stream))
		return;
	if (control_post(stream, control_unpublish(forward, &err), &err) < 0)
		break_off(stream, &err);
}

int control_stream_quiesce(struct control_stream *stream, bool goes_on, struct error *err)
{
	if (require_ready(stream, err) < 0)
		return -1;
	/* The live supervisor has stopped waiting for the answer to an earlier question, and that
	 * answer has not come yet. No second question is sent: the answer to the first one serves
	 * for both. */
	if (stream->quiescing)
		return 0;
	if (control_post(stream, control_quiesce(goes_on, err), err) < 0)
		return -1;
	stream->quiescing = stream->resting = true;
	return 0;
}

void control_stream_go_on(struct control_stream *stream)
{
	/* While the guest has not answered, it may not have stopped its commands yet. The time
	 * would then come too early to let them go on. */
	if (!stream || !stream->resting || stream->quiescing)
		return;
	stream->resting = false;
	control_stream_push_time(stream);
}

int control_stream_settle(struct control_stream *stream, struct error *err)
{
	if (!control_stream_is_ready(stream))
		return error_set(
			err, ERR_CONFLICT,
			"the guest is not ready yet, or has ended: try again when the machine is ready");
	if (control_post(stream, control_settle(err), err) < 0)
		return -1;
	stream->settling = true;
	return 0;
}
