/* SPDX-License-Identifier: MIT */
/* What a hostile guest may send to a client that has one call on a connection, which is a resumable
 * call or the workload. The bytes come in pieces of every size. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "channel/calls.h"

#define WINDOW 524288 /* LIMIT_STDIN_WINDOW_BYTES */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every byte of an item, so that the sanitizer sees a wrong length. */
static void use(const struct call_item *item)
{
	static volatile uint8_t sink;

	for (size_t i = 0; item->kind == CALL_OUTPUT && i < item->len; i++)
		sink ^= item->bytes[i];
	if (item->kind == CALL_EXITED) {
		if (item->call->exit.exit_code < 0 || item->call->exit.exit_code > 255 ||
		    item->call->exit.signal < 0 || item->call->exit.signal > 64)
			abort();
	}
}

/* Returns -1 if the connection would be closed. */
static int take_all(struct calls *calls)
{
	struct call_item item;
	struct error err;
	int got;

	while ((got = calls_next(calls, &item, &err)) == 1)
		use(&item);
	if (calls->in.len > calls->in.limit || calls->count > 1)
		abort();
	return got;
}

/* The id of the call is one that the guest can say. */
static int begin_resumable(struct calls *calls, struct agent_call *call)
{
	static const char *const words[] = {"cat", NULL};
	static const struct microagent_exec exec = {.command = words, .resume_seconds = 9};

	if (calls_begin(calls, call, &exec, AGENT_INPUT_STDIN, NULL) < 0)
		return -1;
	strcpy(calls->resumption.exec, "x");
	return 0;
}

/* Sends as much as may be sent. Nothing that the guest says lets the queue grow without end. */
static void write_stdin(struct calls *calls, const struct agent_call *call)
{
	static const uint8_t bytes[65536];
	const struct stdin_window_sender *window = &calls->slots[1].window;
	size_t room = call->ended ? 0 : calls_stdin_room(calls, call);

	if (room > 0 && calls_stdin(calls, call, bytes, room, NULL) < 0)
		abort();
	if (calls->out.len > 2 * 1024 * 1024 || calls->resumption.kept.len > WINDOW)
		abort();
	if (!window->none && window->sent - window->taken > WINDOW)
		abort();
	if (calls->resumption.on && !call->ended &&
	    window->sent - window->taken != calls->resumption.kept.len)
		abort();
}

/* Gives a piece of the guest's bytes. Returns how much of it found room. */
static size_t feed(struct calls *calls, const uint8_t *data, size_t size)
{
	size_t room = 0;
	uint8_t *space = calls_space(calls, &room, NULL);

	if (!space || room == 0)
		abort(); /* the queue is full without an item or an error, so the client would
			  * hang */
	size = size < room ? size : room;
	memcpy(space, data, size);
	buf_commit(&calls->in, size);
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct calls calls;
	struct agent_call call = {0};
	struct error err;
	size_t piece;

	if (size < 1)
		return 0;
	calls_init(&calls);
	if ((data[0] & 1 ? begin_resumable(&calls, &call)
			 : calls_begin_workload(&calls, &call, &err)) < 0)
		abort();
	piece = (size_t)data[0] + 1;
	data++;
	size--;
	while (size > 0) {
		size_t n = feed(&calls, data, piece < size ? piece : size);

		data += n;
		size -= n;
		if (take_all(&calls) < 0)
			break;
		write_stdin(&calls, &call);
		if (size % 16 == 7 && calls_can_resume(&calls) && calls_resume(&calls, &err) < 0)
			abort();
	}
	calls_free(&calls);
	return 0;
}
