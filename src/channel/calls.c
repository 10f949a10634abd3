/* SPDX-License-Identifier: MIT */
/*
 * The calls of one connection. Each new call gets a higher number, and no number is used again. The
 * index of a call in the table is its number modulo the size of the table, so no search is needed.
 * After a call has ended, the table's entry at this index is free, or belongs to a call with
 * another number.
 */
#include "channel/calls.h"

#include <string.h>

#include "base/frame.h"
#include "base/limits.h"
#include "channel/dial.h"

/* If at least this number of bytes is queued for the guest, no more stdin is queued, because these
 * bytes keep the connection busy. */
#define STDIN_QUEUE ((size_t)256 * 1024)
#define READ_MOST ((size_t)65536)

void agent_call_free(struct agent_call *call)
{
	for (int i = 0; i < CALL_OUTPUTS; i++)
		buf_free(&call->kept[i]);
}

void calls_init(struct calls *calls)
{
	*calls = (struct calls){
		.in = BUF_INIT(2 * (FRAME_HEADER + agent_message_limit())),
		.next = 1,
		.reached = true,
	};
}

int calls_init_dial(struct calls *calls, struct error *err)
{
	calls_init(calls);
	calls->reached = false;
	return dial_request(&calls->out, AGENT_PORT, err);
}

void calls_free(struct calls *calls)
{
	buf_free(&calls->in);
	buf_free(&calls->out);
	resumption_free(&calls->resumption);
}

static struct calls_slot *slot_of(struct calls *calls, uint64_t number)
{
	return &calls->slots[number % CALLS_MAX];
}

static int queue_resumable(struct calls *calls, uint64_t number, const struct microagent_exec *exec,
			   enum agent_input input, struct error *err)
{
	struct resumption *r = &calls->resumption;

	if (resumption_begin(r, number, err) < 0 ||
	    agent_message_exec(&r->opening, number, exec, input, r->exec, NULL, err) < 0)
		return -1;
	return buf_append(&calls->out, buf_bytes(&r->opening), r->opening.len, err);
}

/* Queues the request of a call. If `exec` is NULL, the call is for the workload. */
static int queue_request(struct calls *calls, struct agent_call *call,
			 const struct microagent_exec *exec, enum agent_input input,
			 struct error *err)
{
	uint64_t number = calls->next;
	int status;

	if (calls->count == CALLS_MAX)
		return error_set(
			err, ERR_UNAVAILABLE,
			"%zu requests to the guest are not finished yet, the most at once: try again when some of them have ended",
			CALLS_MAX);
	while (slot_of(calls, number)->number)
		number++;
	if (!exec)
		status = agent_message_workload(&calls->out, number, err);
	else if (exec->resume_seconds)
		status = queue_resumable(calls, number, exec, input, err);
	else
		status = agent_message_exec(&calls->out, number, exec, input, NULL, call->contained,
					    err);
	if (status < 0)
		return -1;
	*slot_of(calls, number) = (struct calls_slot){.number = number, .call = call};
	calls->count++;
	calls->next = number + 1;
	call->number = number;
	call->exec = exec;
	call->timeout_seconds = exec ? exec->timeout_seconds : 0;
	return 0;
}

int calls_begin(struct calls *calls, struct agent_call *call, const struct microagent_exec *exec,
		enum agent_input input, struct error *err)
{
	return queue_request(calls, call, exec, input, err);
}

int calls_begin_workload(struct calls *calls, struct agent_call *call, struct error *err)
{
	return queue_request(calls, call, NULL, AGENT_INPUT_STDIN, err);
}

/* Returns how many bytes of stdin the call may queue now. A call may always queue some stdin if the
 * command has taken all of its earlier stdin. Otherwise other calls could fill the queue again and
 * again, and leave no room for this call. */
size_t calls_stdin_room(const struct calls *calls, const struct agent_call *call)
{
	const struct stdin_window_sender *window = &calls->slots[call->number % CALLS_MAX].window;
	uint64_t most = limit_get(LIMIT_STDIN_WINDOW_BYTES), flying = window->sent - window->taken;
	size_t room = flying < most ? (size_t)(most - flying) : 0;

	if (calls->resumption.on)
		room = resumption_room(&calls->resumption);
	else if (window->none)
		room = SIZE_MAX;
	if (calls->out.len >= STDIN_QUEUE && (window->none || window->sent > window->taken))
		return 0;
	return room < AGENT_STDIN_CHUNK ? room : AGENT_STDIN_CHUNK;
}

int calls_stdin(struct calls *calls, const struct agent_call *call, const void *bytes, size_t len,
		struct error *err)
{
	struct resumption *r = &calls->resumption;

	if ((r->on && buf_append(&r->kept, bytes, len, err) < 0) ||
	    agent_message_stdin(&calls->out, call->number, bytes, len, err) < 0)
		return -1;
	slot_of(calls, call->number)->window.sent += len;
	return 0;
}

int calls_stdin_close(struct calls *calls, const struct agent_call *call, struct error *err)
{
	calls->resumption.stdin_closed = true;
	return agent_message_event(&calls->out, call->number, "stdin-close", err);
}

int calls_start(struct calls *calls, const struct agent_call *call, struct error *err)
{
	return agent_message_event(&calls->out, call->number, "start", err);
}

int calls_signal(struct calls *calls, const struct agent_call *call, int signal, struct error *err)
{
	return agent_message_signal(&calls->out, call->number, signal, err);
}

int calls_resize(struct calls *calls, const struct agent_call *call, struct error *err)
{
	return agent_message_resize(&calls->out, call->number, call->exec->terminal, err);
}

int calls_cancel(struct calls *calls, const struct agent_call *call, struct error *err)
{
	calls->resumption.cancelled = true;
	return agent_message_event(&calls->out, call->number, "cancel", err);
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

/* --- another connection ---------------------------------------------------------------------- */

bool calls_can_resume(const struct calls *calls)
{
	return calls->resumption.on && calls->count > 0;
}

int calls_resume(struct calls *calls, struct error *err)
{
	buf_consume(&calls->in, calls->in.len);
	buf_consume(&calls->out, calls->out.len);
	calls->taken = 0;
	return resumption_attach(&calls->resumption, &calls->out, err);
}

int calls_release(struct calls *calls, struct error *err)
{
	struct resumption *r = &calls->resumption;

	if (!r->on)
		return 0;
	resumption_free(r);
	return agent_message_event(&calls->out, r->number, "release", err);
}

uint64_t calls_stdin_taken(const struct calls *calls, const struct agent_call *call)
{
	return calls->slots[call->number % CALLS_MAX].window.taken;
}

/* --- messages of the guest ------------------------------------------------------------------- */

int agent_call_keep(const struct call_item *item, struct error *err)
{
	struct agent_call *call = item->call;
	struct buf *kept = &call->kept[item->output];
	size_t room = call->cap[item->output] - kept->len;

	if (item->len > room)
		call->truncated[item->output] = true;
	else
		room = item->len;
	return room ? buf_append(kept, item->bytes, room, err) : 0;
}

/* The next functions each handle one message of the guest. They return 1 if *item is for the
 * caller, 0 if the caller need not know of the message, and -1 on an error. */

static int output_item(struct calls *calls, const struct calls_slot *slot,
		       const struct agent_message *message, struct call_item *item,
		       struct error *err)
{
	if (!slot->started)
		return error_set(
			err, ERR_IO,
			"the guest sent output for request %llu, which has not started: this is a bug, or the guest attacks its host",
			(unsigned long long)message->request);
	item->kind = CALL_OUTPUT;
	item->output =
		message->kind == AGENT_MESSAGE_STDOUT ? MICROAGENT_STDOUT : MICROAGENT_STDERR;
	item->bytes = message->bytes;
	item->len = message->len;
	calls->output = item->output;
	calls->output_len = item->len;
	return 1;
}

/* Records how much of its stdin a command has taken. */
static int take_stdin_offset(struct calls *calls, struct calls_slot *slot,
			     const struct agent_message *message, struct error *err)
{
	struct stdin_window_sender *window = &slot->window;

	if (!message->tells_stdin)
		window->none = true;
	else if (message->stdin_offset < window->taken || message->stdin_offset > window->sent)
		return error_set(
			err, ERR_IO,
			"the guest agent reports that it took %llu bytes of stdin, which cannot be true: this is a bug, or the guest attacks its host",
			(unsigned long long)message->stdin_offset);
	else
		window->taken = message->stdin_offset;
	if (calls->resumption.on)
		resumption_forget(&calls->resumption, slot->window.sent - slot->window.taken);
	return 0;
}

static int created_item(const struct calls_slot *slot, struct call_item *item, struct error *err)
{
	if (slot->started || !slot->call || !slot->call->contained)
		return error_set(
			err, ERR_IO,
			"the guest agent's message names a container that was not asked for: this is a bug, or the guest attacks its host");
	item->kind = CALL_CREATED;
	return 1;
}

static int start_item(struct calls *calls, struct calls_slot *slot,
		      const struct agent_message *message, struct call_item *item,
		      struct error *err)
{
	struct resumption *r = &calls->resumption;
	bool again = slot->started;

	if (again && !r->attaching)
		return error_set(
			err, ERR_IO,
			"the guest agent's message reports a second start of one command: this is a bug, or the guest attacks its host");
	/* An agent of another version may not know resumption. In this case the call becomes a call
	 * that cannot be resumed. */
	if (r->on && !message->exec[0] && !r->attaching)
		resumption_free(r);
	if (r->on && strcmp(message->exec, r->exec) != 0)
		return error_set(
			err, ERR_IO,
			"the guest agent's message reports the start of another command than was asked for: this is a bug, or the guest attacks its host");
	if (take_stdin_offset(calls, slot, message, err) < 0 ||
	    (r->on && resumption_start(r, &calls->out, err) < 0))
		return -1;
	slot->started = true;
	if (slot->call)
		slot->call->started = true;
	item->kind = CALL_STARTED;
	return again ? 0 : 1;
}

static int take_let_go(struct calls *calls, const struct calls_slot *slot,
		       const struct agent_message *message, struct error *err)
{
	struct resumption *r = &calls->resumption;

	if (r->on && r->attaching && !slot->started && message->why.code == ERR_NOT_FOUND)
		return resumption_ask_again(r, &calls->out, err);
	return error_set(err, ERR_IO, "the guest agent gave up the command: %s", message->why.msg);
}

static int hear_message(struct calls *calls, const struct agent_message *message,
			struct call_item *item, struct error *err)
{
	struct calls_slot *slot = slot_of(calls, message->request);

	if (message->kind == AGENT_MESSAGE_OTHER)
		return 0;
	if (!message->request || slot->number != message->request)
		return error_set(
			err, ERR_IO,
			message->bytes
				? "the guest sent output for request %llu, which was not made or has ended: this is a bug, or the guest attacks its host"
				: "the guest agent's message is about request %llu, which was not made or has ended: this is a bug, or the guest attacks its host",
			(unsigned long long)message->request);
	*item = (struct call_item){.call = slot->call};
	switch (message->kind) {
	case AGENT_MESSAGE_CREATED:
		return created_item(slot, item, err);
	case AGENT_MESSAGE_START:
		return start_item(calls, slot, message, item, err);
	case AGENT_MESSAGE_ACK:
		return take_stdin_offset(calls, slot, message, err);
	case AGENT_MESSAGE_EXIT:
		if (slot->call) {
			slot->call->exit = message->exit;
			slot->call->ended = true;
		}
		*slot = (struct calls_slot){0};
		calls->count--;
		item->kind = CALL_EXITED;
		return 1;
	case AGENT_MESSAGE_DETACHED:
		return take_let_go(calls, slot, message, err);
	default:
		return output_item(calls, slot, message, item, err);
	}
}

int calls_next(struct calls *calls, struct call_item *item, struct error *err)
{
	struct agent_message message;
	size_t settled;
	int got;

	for (;;) {
		/* The caller does not need the previous item any more. */
		settled = calls->output_len;
		buf_consume(&calls->in, calls->taken);
		calls->taken = calls->output_len = 0;
		if (settled > 0 && calls->resumption.on &&
		    resumption_took(&calls->resumption, calls->output, settled, &calls->out, err) <
			    0)
			return -1;
		if (!calls->reached) {
			/* Reads the answer to the dial, which is one line. The bytes after this
			 * line come from the agent. */
			got = dial_answer(buf_bytes(&calls->in), calls->in.len, err);
			if (got <= 0)
				return got;
			buf_consume(&calls->in, (size_t)got);
			calls->reached = true;
		}
		got = agent_message_peek(&calls->in, &message, err);
		if (got <= 0)
			return got;
		calls->taken = message.taken;
		got = hear_message(calls, &message, item, err);
		/* An item for an abandoned call is dropped. */
		if (got < 0 || (got > 0 && item->call))
			return got;
	}
}
