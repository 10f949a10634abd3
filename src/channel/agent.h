/* SPDX-License-Identifier: MIT */
/*
 * The client's side of the guest agent's streaming mode: one request on one connection. No I/O:
 * bytes from the guest are fed in and come out as items, requests and stdin are queued in `out` for
 * the owner of the descriptor to send. So the tests and the fuzzer drive the very code that faces
 * the guest.
 *
 * What arrives is hostile. A frame is at most LIMIT_STREAM_FRAME_BYTES of payload, an answer about
 * another request or with a value out of range is an error (ERR_IO), and nothing that the guest
 * sends makes the stream hold more than two frames.
 */
#ifndef CHANNEL_AGENT_H
#define CHANNEL_AGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/agent_wire.h"
#include "base/buf.h"
#include "base/error.h"
#include "channel/resumption.h"
#include "channel/stdin_credit.h"

struct agent_size {
	uint16_t rows, columns; /* of a terminal; at least 1 */
};

/* What to run. Strings are borrowed for the call alone. */
struct agent_exec {
	const char *const *command; /* argv, NULL-terminated, at least one word */
	const char *const *env;	    /* "KEY=VALUE", NULL-terminated; NULL: none */
	const char *cwd;	    /* NULL: the guest's default */
	const char *user;	    /* NULL: the guest's default */
	int64_t timeout_seconds;    /* 0: none */
	json_t *rlimits;	    /* {"nofile":{"soft":N,"hard":N},...}; NULL: none asked for */
	bool stdin_open;	    /* false: /dev/null */
	/* How long it may be without a connection; 0: it is killed with it. */
	int64_t resume_seconds;
	const char *id; /* with resume_seconds: agent_stream_exec() makes one up */
	bool hand_over; /* the connection becomes the command's stdin and stdout */
	/* On a terminal of that size, stderr then being part of stdout; NULL: on pipes. */
	const struct agent_size *terminal;
};

/* How it ended. */
struct agent_exit {
	int exit_code; /* 0..255; 128+signal for a signal, 126 and 127 as in a shell */
	int signal;    /* 0: none */
	bool timed_out;
	bool killed;
	int64_t elapsed_ms;
	char start_error[256]; /* "" unless it never ran */
};

enum agent_item_kind {
	AGENT_ITEM_START,
	AGENT_ITEM_STDOUT,
	AGENT_ITEM_STDERR,
	AGENT_ITEM_EXIT /* the last */
};

struct agent_item {
	enum agent_item_kind kind;
	const uint8_t *bytes; /* STDOUT, STDERR: valid until the next call */
	size_t len;
	struct agent_exit exit; /* EXIT */
};

struct agent_stream {
	struct buf in;	/* received and not yet taken */
	struct buf out; /* to be sent */
	size_t taken;	/* bytes at the front of `in` that the last item still borrows */
	bool started, ended;
	int64_t timeout_seconds;	  /* the command's own; 0: none */
	struct stdin_credit stdin_credit; /* of an exec that is not resumable */
	/* Of a resumable exec; what the last item borrows counts as taken in the next call. */
	struct resumption resumption;
	enum agent_item_kind last;
	size_t last_len;
};

/* Queues the opening request. The stream is zeroed first; free it also after a failure. */
int agent_stream_exec(struct agent_stream *stream, const struct agent_exec *exec,
		      struct error *err);
/* The same for the workload of the run config, which waits for this to start. */
int agent_stream_workload(struct agent_stream *stream, struct error *err);
void agent_stream_free(struct agent_stream *stream); /* accepts a zeroed one */

/* Whether a new connection can go on with what a broken one has begun. */
bool agent_stream_can_resume(const struct agent_stream *stream);
/* Bytes of stdin that the agent is known to have taken; 0 for a stream that cannot be resumed. */
uint64_t agent_stream_stdin_taken(const struct agent_stream *stream);
/* Goes on over a new connection, when agent_stream_next() has given all that came over the last:
 * whatever was queued or half received is dropped, and neither output nor stdin is lost by that nor
 * comes twice. Signals and sizes that were on their way may be lost. */
int agent_stream_resume(struct agent_stream *stream, struct error *err);
/* Queues that a resumable exec is not needed any more: what still runs is killed. */
int agent_stream_release(struct agent_stream *stream, struct error *err);

/* Bytes that agent_stream_feed() takes now; 0 until items have been taken. */
size_t agent_stream_room(const struct agent_stream *stream);
int agent_stream_feed(struct agent_stream *stream, const void *bytes, size_t len,
		      struct error *err);
/* 1: *item is the next one; 0: more bytes are needed; -1: the guest broke the protocol or reports
 * an error, and the connection is to be closed. */
int agent_stream_next(struct agent_stream *stream, struct agent_item *item, struct error *err);

/* Bytes of stdin that agent_stream_stdin() takes now: what is queued is bounded. */
size_t agent_stream_stdin_room(const struct agent_stream *stream);
int agent_stream_stdin(struct agent_stream *stream, const void *bytes, size_t len,
		       struct error *err);
int agent_stream_stdin_close(struct agent_stream *stream, struct error *err);
int agent_stream_signal(struct agent_stream *stream, int signal, struct error *err);
int agent_stream_resize(struct agent_stream *stream, const struct agent_size *size,
			struct error *err);
/* Kills the whole tree of the command; the exit item follows. */
int agent_stream_cancel(struct agent_stream *stream, struct error *err);

#endif
