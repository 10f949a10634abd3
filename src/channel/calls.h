/* SPDX-License-Identifier: MIT */
/*
 * Many requests in flight on one connection to the guest's agent, from the hybrid-vsock dial on. No
 * I/O and no threads: what the guest sends is fed in, what is to be sent is queued in `out` for the
 * owner of the descriptor. So the tests and the fuzzer drive the very code that faces the guest.
 *
 * What arrives is hostile. A message about a number that is not in flight (never given, ended
 * already), a second start, output in front of the start, a frame that is too long or malformed:
 * each is an error (ERR_IO), after which the connection is of no use. Memory: two frames of what
 * has arrived, and for each call no more output than its caller wants to keep.
 */
#ifndef CHANNEL_CALLS_H
#define CHANNEL_CALLS_H

#include "channel/agent.h"
#include "channel/stdin_credit.h"

/* At once on a connection, at most: the agent's own bound (LIMIT_AGENT_REQUESTS). */
#define CALLS_MAX ((size_t)256)

enum call_output { CALL_STDOUT, CALL_STDERR, CALL_OUTPUTS };

/* One request. Its owner keeps it where it is until it has ended or was abandoned. */
struct agent_call {
	/* Set before calls_begin(): where output goes, piece by piece; other than 0 sets `refused`.
	 * NULL: it is kept in `kept`. */
	int (*output)(void *data, enum call_output which, const void *bytes, size_t len);
	void (*on_start)(void *data); /* the program runs; NULL: not told */
	void *data;
	size_t cap[CALL_OUTPUTS]; /* of what is kept, in bytes */

	uint64_t number;
	struct buf kept[CALL_OUTPUTS];
	bool truncated[CALL_OUTPUTS];
	bool refused;
	bool ended; /* exit is known; the number is free again */
	struct agent_exit exit;
};
/* Frees what is kept. Accepts a zeroed one. */
void agent_call_free(struct agent_call *call);

struct calls_slot {
	uint64_t number; /* 0: free */
	bool started;
	struct stdin_credit stdin_credit;
	struct agent_call *call; /* NULL: abandoned, what comes is dropped */
};

struct calls {
	struct buf in;	 /* received and not yet taken */
	struct buf out;	 /* to be sent */
	struct buf held; /* to be sent once the guest has been reached */
	bool reached;	 /* the dial has been answered */
	struct calls_slot slots[CALLS_MAX];
	size_t count;
	uint64_t next;
};

/* Queues the dial to the agent's port. */
int calls_init(struct calls *calls, struct error *err);
void calls_free(struct calls *calls);

/* Queues a request. ERR_UNAVAILABLE when CALLS_MAX are in flight. */
int calls_begin(struct calls *calls, struct agent_call *call, const struct agent_exec *exec,
		struct error *err);
/* Stdin of a call whose exec said stdin_open: at most AGENT_STDIN_CHUNK bytes at once, as many as
 * calls_stdin_room() says, and its end. */
size_t calls_stdin_room(const struct calls *calls, const struct agent_call *call);
int calls_stdin(struct calls *calls, const struct agent_call *call, const void *bytes, size_t len,
		struct error *err);
int calls_stdin_close(struct calls *calls, const struct agent_call *call, struct error *err);
/* Kills the whole tree of the command; the exit follows. */
int calls_cancel(struct calls *calls, const struct agent_call *call, struct error *err);
/* What comes for it from now on is dropped; the call is its owner's again. */
void calls_abandon(struct calls *calls, struct agent_call *call);

/* A place for bytes from the guest, *room of them (at least 1), to be committed with buf_commit()
 * on `in`. NULL without memory. */
uint8_t *calls_space(struct calls *calls, size_t *room, struct error *err);
/* 1: a message was taken, *ended is the call that it ended, or NULL; 0: more bytes are needed; -1:
 * the connection is of no use any more. ERR_UNAVAILABLE when the guest was not reached. */
int calls_next(struct calls *calls, struct agent_call **ended, struct error *err);

#endif
