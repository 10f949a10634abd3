/* SPDX-License-Identifier: MIT */
#include "hyperv/keeper/guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent_wire.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "hyperv/keeper/hvsocket.h"
#include "supervisor/live/control_message.h"

#define GUEST_CHUNK 65536

enum guest_stage { GUEST_NEW, GUEST_CONFIGURED, GUEST_READY, GUEST_DONE };

struct guest {
	SOCKET listener, stream;
	HANDLE thread;
	struct inbox *inbox;
	json_t *config;
	bool workload, ending;
	enum guest_stage stage;
};

static int send_message(SOCKET stream, const json_t *message, struct error *err)
{
	autofree char *line = json_line(message, err);
	autobuf struct buf frame = BUF_INIT(FRAME_MAX + FRAME_HEADER);

	if (!line || frame_append(&frame, line, strlen(line), err) < 0)
		return -1;
	return hvsocket_send(stream, buf_bytes(&frame), frame.len, err);
}

static int take_hello(struct guest *guest, json_t *message, struct error *err)
{
	struct control_hello hello;

	if (guest->stage != GUEST_NEW)
		return error_set(
			err, ERR_INVALID,
			"the guest sent the message \"hello\" for the second time: this is a bug, or the guest attacks its host");
	if (control_read_hello(message, &hello, err) < 0 || control_stamp(guest->config, err) < 0 ||
	    send_message(guest->stream, guest->config, err) < 0)
		return -1;
	guest->stage = GUEST_CONFIGURED;
	inbox_post(guest->inbox, NOTICE_HELLO, json_incref(message), NULL);
	return 0;
}

static int take_ready(struct guest *guest, struct error *err)
{
	if (guest->stage != GUEST_CONFIGURED)
		return error_set(
			err, ERR_INVALID,
			"the guest sent the message \"ready\" at the wrong time: this is a bug, or the guest attacks its host");
	guest->stage = GUEST_READY;
	inbox_post(guest->inbox, NOTICE_READY, NULL, NULL);
	return 0;
}

static int take_guest_result(struct guest *guest, json_t *message, struct error *err)
{
	if (guest->stage != GUEST_READY || !guest->workload)
		return error_set(
			err, ERR_INVALID,
			"the guest sent the message \"result\" at the wrong time: this is a bug, or the guest attacks its host");
	guest->stage = GUEST_DONE;
	inbox_post(guest->inbox, NOTICE_RESULT, json_incref(message), NULL);
	return 0;
}

/* Handles the message `ending`. Posts only the first such message, so that the guest cannot fill
 * the inbox by repeating the message. */
static void take_ending(struct guest *guest)
{
	if (!guest->ending)
		inbox_post(guest->inbox, NOTICE_ENDING, NULL, NULL);
	guest->ending = true;
}

/* Handles one message. Ignores messages of unknown types, since a guest of a later version may send
 * them. */
static int take_guest_message(struct guest *guest, const uint8_t *payload, size_t len,
			      struct error *err)
{
	enum control_type type = CONTROL_UNKNOWN;
	json_auto_t *message = control_decode(payload, len, &type, err);

	if (!message)
		return -1;
	if (guest->stage == GUEST_NEW && type != CONTROL_HELLO)
		return error_set(
			err, ERR_INVALID,
			"the guest's first message is not \"hello\": this is a bug, or the guest attacks its host");
	switch (type) {
	case CONTROL_HELLO:
		return take_hello(guest, message, err);
	case CONTROL_READY:
		return take_ready(guest, err);
	case CONTROL_RESULT:
		return take_guest_result(guest, message, err);
	case CONTROL_ENDING:
		take_ending(guest);
		return 0;
	default:
		return 0;
	}
}

/* Returns the largest allowed size of the next frame in bytes. */
static size_t longest_frame(const struct guest *guest)
{
	return guest->stage == GUEST_READY && guest->workload ? control_result_max()
							      : CONTROL_SMALL_MAX;
}

static int take_guest_frames(struct guest *guest, struct buf *in, struct error *err)
{
	for (;;) {
		const uint8_t *payload;
		size_t len;
		int got = frame_peek(in, longest_frame(guest), &payload, &len, err);

		if (got <= 0)
			return got;
		if (take_guest_message(guest, payload, len, err) < 0)
			return -1;
		buf_consume(in, FRAME_HEADER + len);
	}
}

/* Reads the stream until its end. Returns 0 at the end, or -1 with err set. */
static int read_stream(struct guest *guest, struct error *err)
{
	autobuf struct buf in = BUF_INIT(control_result_max() + FRAME_HEADER + GUEST_CHUNK);

	for (;;) {
		uint8_t *room = buf_reserve(&in, GUEST_CHUNK, err);
		int n = room ? recv(guest->stream, (char *)room, GUEST_CHUNK, 0) : -1;

		if (!room)
			return -1;
		if (n <= 0)
			return 0;
		buf_commit(&in, (size_t)n);
		if (take_guest_frames(guest, &in, err) < 0)
			return -1;
	}
}

static DWORD WINAPI serve_guest(void *context)
{
	struct guest *guest = context;
	struct error err = {0};

	guest->stream = accept(guest->listener, NULL, NULL);
	closesocket(guest->listener);
	if (guest->stream == INVALID_SOCKET)
		return 0;
	/* Sets a time limit for sending, since the live supervisor's main thread sends on this
	 * stream and must not wait for ever for a guest that does not read. */
	if (hvsocket_timeout(guest->stream, SO_SNDTIMEO, (DWORD)limit_get(LIMIT_CONTROL_REQUEST_MS),
			     &err) < 0 ||
	    read_stream(guest, &err) < 0)
		inbox_post(guest->inbox, NOTICE_BROKEN, NULL, err.msg);
	else
		inbox_post(guest->inbox, NOTICE_LOST, NULL, "the guest closed it");
	shutdown(guest->stream, SD_BOTH);
	return 0;
}

struct guest *guest_listen(const struct guid *vm, const json_t *config, bool workload,
			   struct inbox *inbox, struct error *err)
{
	struct guest *guest = calloc(1, sizeof(*guest));

	if (!guest) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	guest->stream = INVALID_SOCKET;
	guest->inbox = inbox;
	guest->workload = workload;
	guest->config = json_deep_copy(config);
	guest->listener = hvsocket_listen(vm, CONTROL_PORT, 1, err);
	if (guest->listener == INVALID_SOCKET)
		return NULL;
	guest->thread = CreateThread(NULL, 0, serve_guest, guest, 0, NULL);
	if (guest->thread)
		return guest;
	windows_error(err, GetLastError(), "thread");
	return NULL;
}

int guest_say(struct guest *guest, const json_t *message, struct error *err)
{
	return send_message(guest->stream, message, err);
}

/* If no stream was accepted, closes the listener, so that accept() returns in the thread. */
void guest_end(struct guest *guest, unsigned ms)
{
	if (guest->stream == INVALID_SOCKET)
		closesocket(guest->listener);
	if (WaitForSingleObject(guest->thread, ms) != WAIT_OBJECT_0 &&
	    guest->stream != INVALID_SOCKET)
		shutdown(guest->stream, SD_BOTH);
}
