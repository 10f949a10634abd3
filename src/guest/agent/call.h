/* SPDX-License-Identifier: MIT */
/*
 * A call is one request that runs on a connection, from its job's start to its answer. Buffered
 * ones gather the output and answer once; streaming ones put it straight into the connection's
 * queue, framed where it lies, and wait when that is full. The workload's call is a streaming one
 * whose job belongs to the workload and outlives it, and that of a resumable exec likewise.
 */
#ifndef GUEST_CALL_H
#define GUEST_CALL_H

#include "base/agent_wire.h"
#include "guest/agent/answer.h"
#include "guest/agent/exec.h"
#include "guest/agent/request.h"
#include "guest/agent/stdin_window.h"

struct conn;
struct file_op;
struct pty_event;
struct resumable;

enum call_kind {
	CALL_ENVELOPE,
	CALL_FILE,
	CALL_PTY,
	CALL_FRAME,
	CALL_STREAM,
	CALL_RESUMABLE,
	CALL_WORKLOAD
};

struct call {
	struct conn *conn;
	struct call *next, **link;
	enum call_kind kind;
	struct job *job; /* WORKLOAD, RESUMABLE: NULL before it started and after it ended */
	struct resumable *resumable; /* RESUMABLE: NULL when it never was */
	char *id;		     /* the client's, never NULL */
	uint64_t number;
	struct captured output;	    /* buffered kinds */
	bool dropping;		    /* space() was nowhere: what comes is lost */
	bool stdin_whole;	    /* stdin_bytes are all there will be */
	struct buf stdin_bytes;	    /* still to be written */
	struct stdin_window input;  /* STREAM, WORKLOAD; on only if the client asked for it */
	bool stdin_told_over;	    /* the client sends no more at all, and the command knows */
	const struct file_op *file; /* FILE */
	size_t given;		    /* FILE: bytes that were to be written */
};

/* Each starts what the request asks for; what cannot be started is answered as such. -1: a breach
 * of the protocol, or no memory; the connection is to be closed. */
int call_exec(struct conn *conn, struct request *request, struct error *err);
int call_file(struct conn *conn, struct request *request, struct error *err);
int call_pty(struct conn *conn, const struct request *request, struct error *err);
/* An event from the client for an open PTY; takes what is in it. */
void call_pty_event(struct call *call, struct pty_event *event);
/* The connection becomes the command's own and ends here, without a word of ours. */
int call_hand_over(struct conn *conn, const struct request *request, struct error *err);
int call_attach(struct conn *conn, const struct request *request, struct error *err);

/* Whether the client can still send it stdin. */
static inline bool call_is_live(const struct call *call)
{
	return call->kind == CALL_STREAM || call->kind == CALL_WORKLOAD || call->kind == CALL_PTY;
}

/* Stdin of one with a window. ERR_INVALID: the client has sent more than it holds. */
int call_take_stdin(struct call *call, const void *bytes, size_t len, struct error *err);
void call_close_stdin(struct call *call);
/* Tells the client how far the command has come, if it is time to. */
void call_say_taken(struct call *call, struct stdin_window *window);

/* The connection is gone: kills the command, hangs up a PTY, lets the workload and a resumable exec
 * be. Frees the call. */
void call_abandon(struct call *call);
/* Takes it off its connection and frees it, and says nothing. */
void call_forget(struct call *call);
/* The connection has room again. */
void call_drained(struct call *call);
/* Whether its client has yet to be told something. */
bool call_is_open(const struct call *call);

/* In front of output on the wire. */
void call_frame_front(uint8_t *frame, enum job_stream stream, uint64_t number, size_t len);

/* For the workload's job. */
uint8_t *call_space(struct call *call, enum job_stream stream, size_t *room);
void call_output(struct call *call, enum job_stream stream, size_t len);
void call_started(struct call *call, pid_t pid);
void call_stdin_room(struct call *call);
/* Says exit and frees the call. */
void call_exit(struct call *call, const struct job_end *end);

#endif
