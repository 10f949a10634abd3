/* SPDX-License-Identifier: MIT */
/*
 * Numbers go up and are not used again; a call's slot is its number modulo the size of the table,
 * so that finding it takes no search, and a number that has ended finds a slot with another in it.
 */
#include "channel/calls.h"

#include <string.h>

#include "base/frame.h"
#include "channel/agent_message.h"

/* "OK 4294967295\n" and some room: a longer line is no answer to a CONNECT. */
#define ANSWER_MAX 32
/* A queue of stdin that keeps the connection busy and no more. */
#define STDIN_QUEUE ((size_t)256 * 1024)
#define READ_MOST ((size_t)65536)

void agent_call_free(struct agent_call *call)
{
	for (int i = 0; i < CALL_OUTPUTS; i++)
		buf_free(&call->kept[i]);
}

int calls_init(struct calls *calls, struct error *err)
{
	*calls = (struct calls){
		.in = BUF_INIT(2 * (FRAME_HEADER + agent_message_limit())),
		.next = 1,
	};
	return buf_printf(&calls->out, err, "CONNECT %d\n", AGENT_PORT);
}

void calls_free(struct calls *calls)
{
	buf_free(&calls->in);
	buf_free(&calls->out);
	buf_free(&calls->held);
}

/* Not before the dial is answered: until then the other end is no agent. */
static struct buf *queue_of(struct calls *calls)
{
	return calls->reached ? &calls->out : &calls->held;
}

static struct calls_slot *slot_of(struct calls *calls, uint64_t number)
{
	return &calls->slots[number % CALLS_MAX];
}

int calls_begin(struct calls *calls, struct agent_call *call, const struct agent_exec *exec,
		struct error *err)
{
	uint64_t number = calls->next;

	if (calls->count == CALLS_MAX)
		return error_set(err, ERR_UNAVAILABLE, "%zu requests are in flight already",
				 CALLS_MAX);
	while (slot_of(calls, number)->number)
		number++;
	if (agent_message_exec(queue_of(calls), number, exec, err) < 0)
		return -1;
	*slot_of(calls, number) = (struct calls_slot){.number = number, .call = call};
	calls->count++;
	calls->next = number + 1;
	call->number = number;
	return 0;
}

/* A call of which nothing is on its way may always queue something, or those that fill the queue
 * again and again would leave the others none of it. */
size_t calls_stdin_room(const struct calls *calls, const struct agent_call *call)
{
	const struct stdin_credit *credit = &calls->slots[call->number % CALLS_MAX].stdin_credit;
	size_t queued = calls->out.len + calls->held.len;
	size_t room = stdin_credit_room(credit);

	if (queued >= STDIN_QUEUE && (credit->none || credit->sent > credit->taken))
		return 0;
	return room < AGENT_STDIN_CHUNK ? room : AGENT_STDIN_CHUNK;
}

int calls_stdin(struct calls *calls, const struct agent_call *call, const void *bytes, size_t len,
		struct error *err)
{
	if (agent_message_stdin(queue_of(calls), call->number, bytes, len, err) < 0)
		return -1;
	slot_of(calls, call->number)->stdin_credit.sent += len;
	return 0;
}

int calls_stdin_close(struct calls *calls, const struct agent_call *call, struct error *err)
{
	return agent_message_event(queue_of(calls), call->number, "stdin-close", err);
}

int calls_cancel(struct calls *calls, const struct agent_call *call, struct error *err)
{
	return agent_message_event(queue_of(calls), call->number, "cancel", err);
}

void calls_abandon(struct calls *calls, struct agent_call *call)
{
	struct calls_slot *slot = slot_of(calls, call->number);

	if (slot->call == call)
		slot->call = NULL;
}

uint8_t *calls_space(struct calls *calls, size_t *room, struct error *err)
{
	size_t left = calls->in.limit - calls->in.len;
	uint8_t *space = buf_reserve(&calls->in, left < READ_MOST ? left : READ_MOST, err);

	if (space)
		*room = left < READ_MOST ? left : READ_MOST;
	return space;
}

/* --- what the guest says --------------------------------------------------------------------- */

/* The answer to the dial; what follows its line is the agent's. */
static int take_dial(struct calls *calls, struct error *err)
{
	const uint8_t *line = buf_bytes(&calls->in);
	size_t most = calls->in.len < ANSWER_MAX ? calls->in.len : ANSWER_MAX;
	const uint8_t *end = memchr(line, '\n', most);

	if (!end && most < ANSWER_MAX)
		return 0;
	if (!end || end - line < 4 || memcmp(line, "OK ", 3) != 0)
		return error_set(err, ERR_IO, "vsock.sock answered with no OK line");
	if (buf_append(&calls->out, buf_bytes(&calls->held), calls->held.len, err) < 0)
		return -1;
	buf_free(&calls->held);
	buf_consume(&calls->in, (size_t)(end - line) + 1);
	calls->reached = true;
	return 1;
}

static int keep(struct agent_call *call, enum call_output which, const uint8_t *bytes, size_t len,
		struct error *err)
{
	size_t room = call->cap[which] - call->kept[which].len;

	if (len > room) {
		call->truncated[which] = true;
		len = room;
	}
	return len ? buf_append(&call->kept[which], bytes, len, err) : 0;
}

static int take_output(const struct calls_slot *slot, const struct agent_message *message,
		       struct error *err)
{
	enum call_output which = message->kind == AGENT_MESSAGE_STDOUT ? CALL_STDOUT : CALL_STDERR;
	struct agent_call *call = slot->call;

	if (!slot->started)
		return error_set(err, ERR_IO, "the guest sent output of a command not started");
	if (!call || call->refused || message->len == 0)
		return 0;
	if (!call->output)
		return keep(call, which, message->bytes, message->len, err);
	call->refused = call->output(call->data, which, message->bytes, message->len) != 0;
	return 0;
}

static int take_start(struct calls_slot *slot, const struct agent_message *message,
		      struct error *err)
{
	if (slot->started)
		return error_set(err, ERR_IO, "bad message from the guest agent: a second start");
	if (stdin_credit_take(&slot->stdin_credit, message, err) < 0)
		return -1;
	slot->started = true;
	if (slot->call && slot->call->on_start)
		slot->call->on_start(slot->call->data);
	return 0;
}

static void take_exit(struct calls *calls, struct calls_slot *slot,
		      const struct agent_message *message, struct agent_call **ended)
{
	struct agent_call *call = slot->call;

	*slot = (struct calls_slot){0};
	calls->count--;
	if (!call)
		return;
	call->exit = message->exit;
	call->ended = true;
	*ended = call;
}

static int take(struct calls *calls, const struct agent_message *message, struct agent_call **ended,
		struct error *err)
{
	struct calls_slot *slot = slot_of(calls, message->request);

	if (message->kind == AGENT_MESSAGE_OTHER)
		return 0;
	if (!message->request || slot->number != message->request)
		return error_set(err, ERR_IO,
				 "bad message from the guest agent: it is about request %llu, "
				 "which is not running",
				 (unsigned long long)message->request);
	switch (message->kind) {
	case AGENT_MESSAGE_START:
		return take_start(slot, message, err);
	case AGENT_MESSAGE_ACK:
		return stdin_credit_take(&slot->stdin_credit, message, err);
	case AGENT_MESSAGE_EXIT:
		take_exit(calls, slot, message, ended);
		return 0;
	case AGENT_MESSAGE_DETACHED:
		return error_set(err, ERR_IO,
				 "bad message from the guest agent: nothing can be detached");
	default:
		return take_output(slot, message, err);
	}
}

int calls_next(struct calls *calls, struct agent_call **ended, struct error *err)
{
	struct agent_message message;
	int got;

	*ended = NULL;
	if (!calls->reached)
		return take_dial(calls, err);
	got = agent_message_peek(&calls->in, &message, err);
	if (got <= 0)
		return got;
	if (take(calls, &message, ended, err) < 0)
		return -1;
	buf_consume(&calls->in, message.taken);
	return 1;
}
