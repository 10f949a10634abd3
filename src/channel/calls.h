/* SPDX-License-Identifier: MIT */
/*
 * The client of the guest's agent: any number of calls on one connection, each a command in the
 * guest from its request to its exit. No I/O and no threads: what the guest sends is fed in and
 * comes out as items, what is to be sent is queued in `out` for the owner of the descriptor. So the
 * tests and the fuzzers drive the very code that faces the guest.
 *
 * What arrives is hostile. A message about a number that is not in flight (never given, ended
 * already), a second start, output in front of the start, a frame that is too long or malformed:
 * each is an error (ERR_IO), after which the connection is of no use. Nothing that the guest sends
 * makes more be held than two frames.
 */
#ifndef CHANNEL_CALLS_H
#define CHANNEL_CALLS_H

#include "channel/agent_message.h"
#include "channel/resumption.h"

/* At once on a connection, at most: the agent's own bound (LIMIT_AGENT_REQUESTS). */
#define CALLS_MAX ((size_t)256)
#define CALL_OUTPUTS (MICROAGENT_STDERR + 1)

/* One command. Its owner keeps it where it is until it has ended or was abandoned. */
struct agent_call {
	const struct microagent_exec *exec; /* borrowed; NULL: the workload of the run config */
	const json_t *contained;	    /* before it begins: as of agent_message_exec() */
	int64_t timeout_seconds;	    /* after which the guest ends the command; 0: never */
	uint64_t number;
	bool started;
	bool ended; /* exit is known; the number is free again */
	struct microagent_outcome exit;
	/* For agent_call_keep(): how many bytes are kept, and those. */
	size_t cap[CALL_OUTPUTS];
	struct buf kept[CALL_OUTPUTS];
	bool truncated[CALL_OUTPUTS];
};
/* Frees what is kept. Accepts a zeroed one. */
void agent_call_free(struct agent_call *call);

/*
 * How much stdin may be on its way to a command: the sender's end of the guest's
 * guest/agent/stdin_window.h. The agent tells how far the command has come; no more than
 * LIMIT_STDIN_WINDOW_BYTES beyond that are sent, so that the agent never stops reading the
 * connection and what is behind the stdin (a cancel, another request) gets there.
 */
struct stdin_window_sender {
	uint64_t sent;	/* bytes */
	uint64_t taken; /* of these the command has */
	bool none;	/* an agent of another version, which does not tell */
};

struct calls_slot {
	uint64_t number; /* 0: free */
	bool started;
	struct stdin_window_sender window;
	struct agent_call *call; /* NULL: abandoned, what comes is dropped */
};

enum call_item_kind {
	CALL_CREATED, /* a container, which waits for calls_start() */
	CALL_STARTED,
	CALL_OUTPUT,
	CALL_EXITED /* the last of its call */
};

struct call_item {
	enum call_item_kind kind;
	struct agent_call *call;
	enum microagent_output output; /* OUTPUT: which, */
	const uint8_t *bytes;	       /* and what: valid until the next calls_next() */
	size_t len;
};

struct calls {
	struct buf in;	/* received and not yet taken */
	struct buf out; /* to be sent */
	bool reached;	/* the other end is the agent */
	struct calls_slot slots[CALLS_MAX];
	size_t count;
	uint64_t next;
	struct resumption resumption; /* of the one call on a connection of its own */
	/* Of the last item, which borrows from `in`: to be dropped from there, and its output, with
	 * which the caller is done when it asks for the next one. */
	size_t taken, output_len;
	enum microagent_output output;
};

/* On a connection that reaches the agent already. */
void calls_init(struct calls *calls);
/* On one to vsock.sock: queues the dial to the agent's port. Requests may follow at once; the guest
 * gets them when it has accepted. */
int calls_init_dial(struct calls *calls, struct error *err);
void calls_free(struct calls *calls);

/* Queues a request; *call is zeroed but for cap and contained. ERR_UNAVAILABLE when CALLS_MAX are
 * in flight. One with resume_seconds is the only call of its connection. */
int calls_begin(struct calls *calls, struct agent_call *call, const struct microagent_exec *exec,
		enum agent_input input, struct error *err);
/* The same for the workload of the run config, which waits for this to start. */
int calls_begin_workload(struct calls *calls, struct agent_call *call, struct error *err);
int calls_start(struct calls *calls, const struct agent_call *call, struct error *err);
/* Stdin of a call that has it: at most AGENT_STDIN_CHUNK bytes at once, as many as
 * calls_stdin_room() says, and its end. */
size_t calls_stdin_room(const struct calls *calls, const struct agent_call *call);
int calls_stdin(struct calls *calls, const struct agent_call *call, const void *bytes, size_t len,
		struct error *err);
int calls_stdin_close(struct calls *calls, const struct agent_call *call, struct error *err);
int calls_signal(struct calls *calls, const struct agent_call *call, int signal, struct error *err);
/* Says the size of the terminal that it is on. */
int calls_resize(struct calls *calls, const struct agent_call *call, struct error *err);
/* Kills the whole tree of the command; the exit follows. */
int calls_cancel(struct calls *calls, const struct agent_call *call, struct error *err);
/* What comes for it from now on is dropped; the call is its owner's again. */
void calls_abandon(struct calls *calls, struct agent_call *call);

/* A place for bytes from the guest, *room of them, to be committed with buf_commit() on `in`. At
 * least 1 after calls_next() has said 0. NULL without memory. */
uint8_t *calls_space(struct calls *calls, size_t *room, struct error *err);
/* 1: *item is the next one; 0: more bytes are needed; -1: the connection is of no use any more. */
int calls_next(struct calls *calls, struct call_item *item, struct error *err);
/* Keeps the output of an item, as much as its call's cap allows. */
int agent_call_keep(const struct call_item *item, struct error *err);

/* Whether a new connection can go on with what a broken one has begun. */
bool calls_can_resume(const struct calls *calls);
/* Goes on over a new connection, when calls_next() has given all that came over the last: whatever
 * was queued or half received is dropped, and neither output nor stdin is lost by that nor comes
 * twice. Signals and sizes that were on their way may be lost. */
int calls_resume(struct calls *calls, struct error *err);
/* Queues that a resumable exec is not needed any more: what still runs is killed. */
int calls_release(struct calls *calls, struct error *err);
/* Bytes of stdin that the command is known to have. */
uint64_t calls_stdin_taken(const struct calls *calls, const struct agent_call *call);

#endif
