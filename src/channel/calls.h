/* SPDX-License-Identifier: MIT */
/*
 * The client of the guest's agent: any number of calls on one connection. Each call is a command in
 * the guest, from its request to its exit. There is no I/O and there are no threads: the caller
 * feeds in what the guest sends, and gets items. Bytes to be sent are queued in `out` for the owner
 * of the descriptor. So the tests and the fuzzers run the very code that faces the guest.
 *
 * Arriving data are hostile. Each of these is an error (ERR_IO), after which the connection is of
 * no use: a message with a number that is not in flight (never used, or ended already), a second
 * start, output before the start, a frame that is too long or malformed. Whatever the guest sends,
 * no more than two frames are held.
 */
#ifndef CHANNEL_CALLS_H
#define CHANNEL_CALLS_H

#include "channel/agent_message.h"
#include "channel/resumption.h"

/* The most calls at once on a connection: the agent's own bound (LIMIT_AGENT_REQUESTS). */
#define CALLS_MAX ((size_t)256)
#define CALL_OUTPUTS (MICROAGENT_STDERR + 1)

/* One command. Its owner must not move it until it has ended or was abandoned. */
struct agent_call {
	const struct microagent_exec *exec; /* borrowed; NULL: the workload of the run config */
	const json_t *contained;	    /* set before the call begins: as in
					     * agent_message_exec() */
	int64_t timeout_seconds;	    /* the guest ends the command after this time; 0:
					     * never */
	uint64_t number;
	bool started;
	bool ended; /* exit is known; the number is free again */
	struct microagent_outcome exit;
	/* For agent_call_keep(): how many bytes are kept, and these bytes. */
	size_t cap[CALL_OUTPUTS];
	struct buf kept[CALL_OUTPUTS];
	bool truncated[CALL_OUTPUTS];
};
/* Frees the kept bytes. Accepts a zeroed call. */
void agent_call_free(struct agent_call *call);

/*
 * How much stdin may be on its way to a command: the sender's end of the guest's
 * guest/agent/stdin_window.h. The agent tells how much the command has taken. The sender sends at
 * most LIMIT_STDIN_WINDOW_BYTES beyond that, so that the agent never stops reading the connection
 * and messages behind the stdin (a cancel, another request) reach it.
 */
struct stdin_window_sender {
	uint64_t sent;	/* bytes */
	uint64_t taken; /* how many of these the command has taken */
	bool none;	/* the agent is of another version, which does not tell */
};

struct calls_slot {
	uint64_t number; /* 0: free */
	bool started;
	struct stdin_window_sender window;
	struct agent_call *call; /* NULL: abandoned, and its messages are dropped */
};

enum call_item_kind {
	CALL_CREATED, /* a container was created, and waits for calls_start() */
	CALL_STARTED,
	CALL_OUTPUT,
	CALL_EXITED /* the last item of its call */
};

struct call_item {
	enum call_item_kind kind;
	struct agent_call *call;
	enum microagent_output output; /* OUTPUT: which stream */
	const uint8_t *bytes;	       /* OUTPUT: its bytes, valid until the next calls_next() */
	size_t len;
};

struct calls {
	struct buf in;	/* received and not used yet */
	struct buf out; /* to be sent */
	bool reached;	/* the other end is known to be the agent */
	struct calls_slot slots[CALLS_MAX];
	size_t count;
	uint64_t next;
	struct resumption resumption; /* used for the only call on a connection */
	/* About the last item, which borrows from `in`: the bytes to drop from `in`, and the length
	 * of its output, with which the caller is done when it asks for the next item. */
	size_t taken, output_len;
	enum microagent_output output;
};

/* Begins on a connection that reaches the agent already. */
void calls_init(struct calls *calls);
/* Begins on a connection to vsock.sock: queues the dial to the agent's port. Requests may follow at
 * once; the guest gets them when it has accepted. */
int calls_init_dial(struct calls *calls, struct error *err);
void calls_free(struct calls *calls);

/* Queues a request. *call is zeroed except cap and contained. ERR_UNAVAILABLE if CALLS_MAX calls
 * are in flight. A call with resume_seconds must be the only call of its connection. */
int calls_begin(struct calls *calls, struct agent_call *call, const struct microagent_exec *exec,
		enum agent_input input, struct error *err);
/* Queues the request to start the workload of the run config, which waits for it. */
int calls_begin_workload(struct calls *calls, struct agent_call *call, struct error *err);
int calls_start(struct calls *calls, const struct agent_call *call, struct error *err);
/* Queue stdin for a call that has it, and its end. At most AGENT_STDIN_CHUNK bytes are queued at
 * once, and no more than calls_stdin_room() returns. */
size_t calls_stdin_room(const struct calls *calls, const struct agent_call *call);
int calls_stdin(struct calls *calls, const struct agent_call *call, const void *bytes, size_t len,
		struct error *err);
int calls_stdin_close(struct calls *calls, const struct agent_call *call, struct error *err);
int calls_signal(struct calls *calls, const struct agent_call *call, int signal, struct error *err);
/* Queues the size of the call's terminal. */
int calls_resize(struct calls *calls, const struct agent_call *call, struct error *err);
/* Asks to kill the whole tree of the command; the exit follows. */
int calls_cancel(struct calls *calls, const struct agent_call *call, struct error *err);
/* Gives up a call: its later messages are dropped, and the owner may free it. */
void calls_abandon(struct calls *calls, struct agent_call *call);

/* Returns a place for *room bytes from the guest, to be committed with buf_commit() on `in`. *room
 * is at least 1 after calls_next() has returned 0. NULL without memory. */
uint8_t *calls_space(struct calls *calls, size_t *room, struct error *err);
/* Reads the next item. Returns 1 if *item is that item; 0 if more bytes are needed; -1 if the
 * connection is of no more use. */
int calls_next(struct calls *calls, struct call_item *item, struct error *err);
/* Keeps the output of an item, up to its call's cap. */
int agent_call_keep(const struct call_item *item, struct error *err);

/* Returns whether a new connection can continue the call of a broken one. */
bool calls_can_resume(const struct calls *calls);
/* Continues over a new connection, after calls_next() has returned all items of the old one.
 * Messages that were queued or half received are dropped. No output and no stdin is lost or comes
 * twice; signals and sizes that were on their way may be lost. */
int calls_resume(struct calls *calls, struct error *err);
/* Queues that a resumable exec is not needed any more: if it still runs, it is killed. */
int calls_release(struct calls *calls, struct error *err);
/* Returns how many bytes of stdin the command is known to have taken. */
uint64_t calls_stdin_taken(const struct calls *calls, const struct agent_call *call);

#endif
