/* SPDX-License-Identifier: MIT */
/*
 * The client of the guest's agent: several calls on one connection. Each call is a command in the
 * guest, from its request to its exit. This code does no I/O and has no threads: the caller puts in
 * the bytes that the guest sends, and takes out items. The bytes for the guest are queued in `out`,
 * and the code that has the connection's descriptor sends them. So tests and fuzzers can run the
 * code that reads the guest's bytes.
 *
 * The guest's bytes are hostile. Each of the following is an error (ERR_IO), after which the
 * connection cannot be used: a message with a number that no unfinished call has, a second start,
 * output before the start, a frame that is too long or malformed. Whatever the guest sends, at most
 * the bytes of two frames are stored.
 */
#ifndef CHANNEL_CALLS_H
#define CHANNEL_CALLS_H

#include "channel/agent_message.h"
#include "channel/resumption.h"

/* The largest number of calls at once on a connection. The agent has the same limit
 * (LIMIT_AGENT_REQUESTS). */
#define CALLS_MAX ((size_t)256)
#define CALL_OUTPUTS (MICROAGENT_STDERR + 1)

/* One command. The caller must not move this struct in memory until the command has ended or the
 * call was abandoned. */
struct agent_call {
	const struct microagent_exec *exec; /* the command, borrowed; NULL: the workload of the run
					     * config */
	const json_t *contained;	    /* For a command in a container: an object with
					     * "container" and "process", borrowed, which is set
					     * before the call begins. Else NULL. */
	int64_t timeout_seconds;	    /* the guest ends the command after this time in
					     * seconds; 0: no limit */
	uint64_t number;
	bool started;
	bool ended; /* true: the command has ended, and `exit` is set; the table entry is free
		     * again */
	struct microagent_outcome exit;
	/* For agent_call_keep(): how many bytes of each output may be kept, the bytes that were
	 * kept, and whether further output was dropped. */
	size_t cap[CALL_OUTPUTS];
	struct buf kept[CALL_OUTPUTS];
	bool truncated[CALL_OUTPUTS];
};
/* Frees the kept bytes. Accepts a zeroed call. */
void agent_call_free(struct agent_call *call);

/*
 * The sender's record of the stdin that is on its way to a command. The receiver is in
 * guest/agent/stdin_window.h. The agent tells how many bytes the command has taken, and the sender
 * sends at most LIMIT_STDIN_WINDOW_BYTES beyond these bytes. So the agent can always take all bytes
 * that were sent, and need never stop reading the connection. Therefore a message behind the stdin
 * (a cancel, another request) always reaches the agent.
 */
struct stdin_window_sender {
	uint64_t sent;	/* bytes that were sent */
	uint64_t taken; /* how many of the sent bytes the command has taken */
	bool none;	/* true: there is no window, because an agent of an older version does not
			 * tell how much the command has taken */
};

struct calls_slot {
	uint64_t number; /* the number of the request; 0: the entry is free */
	bool started;
	struct stdin_window_sender window;
	struct agent_call *call; /* the call; NULL: the call was abandoned, and its messages are
				  * dropped */
};

enum call_item_kind {
	CALL_CREATED, /* a container was created, and waits for calls_start() */
	CALL_STARTED,
	CALL_OUTPUT,
	CALL_EXITED /* the command has ended; this is the last item of its call */
};

struct call_item {
	enum call_item_kind kind;
	struct agent_call *call;
	enum microagent_output output; /* OUTPUT: the stream to which the bytes belong */
	const uint8_t *bytes;	       /* OUTPUT: the bytes, which are valid until the next
				        * calls_next() */
	size_t len;
};

struct calls {
	struct buf in;	/* bytes that were received and are not used yet */
	struct buf out; /* bytes that must be sent to the guest */
	bool reached;	/* true: the connection has reached the agent: the dial (dial.h) was
			 * answered */
	struct calls_slot slots[CALLS_MAX];
	size_t count;
	uint64_t next;
	struct resumption resumption; /* only for a resumable call, which is the only call on its
				       * connection */
	/* For the last item, whose bytes are in `in`: the number of bytes of `in` that the item
	 * takes, and the number of bytes of its output. These bytes are dropped when the caller
	 * asks for the next item. */
	size_t taken, output_len;
	enum microagent_output output;
};

/* Initialises the calls of a connection that has reached the agent already. */
void calls_init(struct calls *calls);
/* Initialises the calls of a new connection to vsock.sock, and queues the dial to the agent's port.
 * Requests may be queued at once. The guest gets them when it has accepted the connection. */
int calls_init_dial(struct calls *calls, struct error *err);
void calls_free(struct calls *calls);

/* Queues a request for a command. All members of *call must be zero, except cap and contained.
 * ERR_UNAVAILABLE if CALLS_MAX calls are under way. A call with resume_seconds must be the only
 * call of its connection. */
int calls_begin(struct calls *calls, struct agent_call *call, const struct microagent_exec *exec,
		enum agent_input input, struct error *err);
/* Queues the request to start the workload of the run config; the guest waits for this request. */
int calls_begin_workload(struct calls *calls, struct agent_call *call, struct error *err);
/* Queues the start of a container that was created (CALL_CREATED). */
int calls_start(struct calls *calls, const struct agent_call *call, struct error *err);
/* Functions for a call that has stdin. calls_stdin_room() returns how many bytes may be queued now.
 * calls_stdin() queues `len` bytes; `len` is at most this number, and at most AGENT_STDIN_CHUNK.
 * calls_stdin_close() queues the end of stdin. */
size_t calls_stdin_room(const struct calls *calls, const struct agent_call *call);
int calls_stdin(struct calls *calls, const struct agent_call *call, const void *bytes, size_t len,
		struct error *err);
int calls_stdin_close(struct calls *calls, const struct agent_call *call, struct error *err);
int calls_signal(struct calls *calls, const struct agent_call *call, int signal, struct error *err);
/* Queues the size of the call's terminal. */
int calls_resize(struct calls *calls, const struct agent_call *call, struct error *err);
/* Queues the request to kill the command with all of its processes. The exit of the command still
 * comes as an item. */
int calls_cancel(struct calls *calls, const struct agent_call *call, struct error *err);
/* Gives up a call: its later messages are dropped, and the caller may free the call. */
void calls_abandon(struct calls *calls, struct agent_call *call);

/* Returns memory to which the caller writes up to *room bytes that come from the guest. The caller
 * then adds these bytes by buf_commit() on calls->in. *room is at least 1 after calls_next() has
 * returned 0. Returns NULL if there is no memory. */
uint8_t *calls_space(struct calls *calls, size_t *room, struct error *err);
/* Reads the next item. Returns 1 if *item is the next item, 0 if more bytes are needed, -1 if the
 * connection cannot be used any more. */
int calls_next(struct calls *calls, struct call_item *item, struct error *err);
/* Keeps the output of an item, up to the `cap` of its call. */
int agent_call_keep(const struct call_item *item, struct error *err);

/* Returns true if a new connection can continue the call of a broken connection. */
bool calls_can_resume(const struct calls *calls);
/* Continues the call over a new connection, after calls_next() has returned all items of the old
 * connection. Messages that were queued or half received are dropped. No output and no stdin is
 * lost or arrives twice; signals and terminal sizes that were on their way may be lost. */
int calls_resume(struct calls *calls, struct error *err);
/* Queues a message to the agent that nobody will continue a resumable exec any more. If the command
 * of the exec still runs, the agent kills the command. */
int calls_release(struct calls *calls, struct error *err);
/* Returns how many bytes of stdin the command is known to have taken. */
uint64_t calls_stdin_taken(const struct calls *calls, const struct agent_call *call);

#endif
