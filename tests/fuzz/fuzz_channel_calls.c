/* SPDX-License-Identifier: MIT */
/* What a hostile guest may send to a client that has many requests on one connection: wrong
 * numbers, two answers, output of a command that has ended, floods. The bytes come in pieces of
 * every size. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "channel/calls.h"

#define CALLS 4
#define CAP ((size_t)64)
#define WINDOW 524288 /* LIMIT_STDIN_WINDOW_BYTES */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const words[] = {"true", NULL};
static const struct microagent_exec exec = {.command = words};

/* Reads every byte, so that the sanitizer sees a wrong length. */
static void look(const struct call_item *item)
{
	static volatile uint8_t sink;

	if (item->output >= CALL_OUTPUTS)
		abort();
	for (size_t i = 0; i < item->len; i++)
		sink ^= item->bytes[i];
}

/* Of four calls one is looked at, one is abandoned, and two are kept. */
static void begin(struct calls *calls, struct agent_call *call, int which)
{
	*call = (struct agent_call){.cap = {CAP, CAP}};
	if (calls_begin(calls, call, &exec, AGENT_INPUT_STDIN, NULL) < 0)
		abort();
	if (which == 2)
		calls_abandon(calls, call);
}

static void check(const struct calls *calls, const struct agent_call list[CALLS])
{
	if (calls->in.len > calls->in.limit || calls->count > CALLS_MAX)
		abort();
	for (int i = 0; i < CALLS; i++)
		if (list[i].kept[MICROAGENT_STDOUT].len > CAP ||
		    list[i].kept[MICROAGENT_STDERR].len > CAP)
			abort();
}

/* Sends as much as may be sent. The connection takes all of it, but the windows bound it. */
static void write_stdin(struct calls *calls, const struct agent_call list[CALLS])
{
	static const uint8_t bytes[65536];

	for (int i = 0; i < CALLS; i++) {
		const struct calls_slot *slot = &calls->slots[list[i].number % CALLS_MAX];
		size_t room = slot->call == &list[i] ? calls_stdin_room(calls, &list[i]) : 0;

		if (room == 0)
			continue;
		if (calls_stdin(calls, &list[i], bytes, room, NULL) < 0)
			abort();
		if (!slot->window.none && slot->window.sent - slot->window.taken > WINDOW)
			abort();
	}
	if (calls->out.len > 2 * 1024 * 1024)
		abort();
	if (calls->reached)
		buf_consume(&calls->out, calls->out.len);
}

static void take_item(struct calls *calls, const struct call_item *item,
		      struct agent_call list[CALLS])
{
	struct agent_call *call = item->call;

	if (call < list || call >= list + CALLS || call == &list[2])
		abort();
	if (item->kind == CALL_OUTPUT && call == &list[1])
		look(item);
	else if (item->kind == CALL_OUTPUT && agent_call_keep(item, NULL) < 0)
		abort();
	if (item->kind != CALL_EXITED)
		return;
	if (!call->ended || call->exit.exit_code < 0 || call->exit.exit_code > 255)
		abort();
	agent_call_free(call);
	begin(calls, call, (int)(call - list));
}

/* Returns -1 if the connection would be closed. */
static int take_all(struct calls *calls, struct agent_call list[CALLS])
{
	struct call_item item;
	struct error err;
	int got;

	while ((got = calls_next(calls, &item, &err)) == 1) {
		check(calls, list);
		take_item(calls, &item, list);
	}
	return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_call list[CALLS];
	static struct calls calls;
	struct error err;
	size_t piece;

	if (size < 1)
		return 0;
	if (calls_init_dial(&calls, &err) < 0)
		abort();
	for (int i = 0; i < CALLS; i++)
		begin(&calls, &list[i], i);
	piece = (size_t)data[0] + 1;
	data++;
	size--;
	while (size > 0) {
		size_t room = 0, n = piece < size ? piece : size;
		uint8_t *space = calls_space(&calls, &room, &err);

		if (!space || room == 0)
			abort(); /* the queue is full without a message or an error, so the
				  * client would hang */
		n = n < room ? n : room;
		memcpy(space, data, n);
		buf_commit(&calls.in, n);
		data += n;
		size -= n;
		if (take_all(&calls, list) < 0)
			break;
		write_stdin(&calls, list);
	}
	for (int i = 0; i < CALLS; i++)
		agent_call_free(&list[i]);
	calls_free(&calls);
	return 0;
}
