/* SPDX-License-Identifier: MIT */
/*
 * A connection to the agent, and the calls on this connection. A call is one request, from the
 * start of its job to its answer. call.h has the functions of calls.
 *
 * The first byte of the connection chooses its form: the envelope form or the frame form. The
 * functions of the form handle the bytes that come, and start the calls. A call sends messages with
 * conn_say(), or puts frames directly into the connection's send queue. While a command's stdin is
 * full, the connection waits. The call then calls conn_go_on() when stdin has room again. The
 * connection uses a call only through the functions of the call's kind (struct call_kind).
 *
 * In the envelope form, requests come one after the other, until the client sends no more or is
 * idle for long. In the frame form, the agent closes the connection after the last answer if no
 * request wanted a stream. Otherwise the connection is open until the client closes it. When a
 * connection ends, its terminals get a hangup, and its commands are killed, except resumable
 * commands.
 */
#ifndef GUEST_CONN_H
#define GUEST_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/framed.h"
#include "base/limits.h"
#include "base/list.h"
#include "guest/agent/request.h"
#include "guest/agent/stdin_window.h"

struct call;
struct conn;
struct exec_context;
struct job_end;
struct mux_stream;
struct resumables;
struct workload;

struct conn_form {
	enum limit most; /* the limit for the size of one message, in bytes */
	int (*send)(struct framed *wire, const char *text, struct error *err);
	/* Handles the bytes that have come. Returns true if the caller must call step() again,
	 * since some of these bytes may still be handled. */
	bool (*step)(struct conn *conn);
	/* Returns true if more bytes may be read from the connection now. If may_read is NULL,
	 * bytes may be read at any time. */
	bool (*may_read)(const struct conn *conn);
	bool repeats; /* after an answer, the client may send another request */
};

/* The state that all connections of an agent share. */
struct conns {
	struct loop *loop;
	struct list live, dead;
	size_t count; /* the number of connections that have not ended */
	/* The form of a connection whose first byte has not come yet. */
	const struct conn_form *unknown;
	/* The state that the functions for starting calls use. */
	struct exec_context *context;
	struct workload *workload;
	struct resumables *resumables;
};

struct conn {
	struct conns *all;
	struct list_link link;
	struct framed wire;
	const struct conn_form *form;
	/* The timer for the first request. In a form that allows further requests, it is also the
	 * timer for each of these. */
	struct loop_watch *idle;
	struct list calls; /* the calls of the connection, newest first */
	size_t ncalls;
	struct envelope_scan scan;
	/* The number of bytes of the frame at the front of the input that were already handled as
	 * stdin. */
	size_t stdin_taken;
	bool waiting; /* no more input is handled until a command's stdin has room */
	/* A request of the envelope form that has come while a terminal is open waits until the
	 * terminal has ended. */
	bool held;
	bool streaming; /* a request on this connection wanted a stream or a terminal */
	bool closing;	/* the connection closes when all messages are sent */
	bool dead;
	bool busy;  /* messages of the connection are being handled at this moment */
	bool asked; /* a request has come on this connection */
	/* Called when the connection has closed; NULL: nothing is called. The workload sets this
	 * for its client. */
	void (*closed)(void *data);
	void *closed_data;
};

struct call_kind {
	size_t size; /* size of the kind's struct in bytes; the struct begins with a struct call */
	/* Returns the message that tells the client how the command ended, or NULL if there is no
	 * memory. */
	char *(*answer)(struct call *call, const struct job_end *end, struct error *err);
	/* Handles an event that the client has sent for the call. NULL if the form has no
	 * events. */
	int (*event)(struct call *call, const struct request *request, struct error *err);
	/* Called when the client has shut down its side of the connection. NULL if the call takes
	 * no stdin. */
	void (*input_ended)(struct call *call);
	/* Called when the connection's send queue has room for output again. */
	void (*drained)(struct call *call);
	/* Called when the connection has ended and no longer has the call in its list. Decides
	 * whether the command continues, and frees the call. */
	void (*abandon)(struct call *call);
	/* Frees the members that follow the struct call in the kind's struct. NULL if no member
	 * must be freed. */
	void (*drop)(struct call *call);
};

struct call {
	struct conn *conn;
	struct list_link link;
	const struct call_kind *kind;
	struct job *job; /* the command's job; NULL: the job has not started yet, or has ended */
	char *id;	 /* the id that the client gave to its request; never NULL */
	uint64_t number;
	struct stdin_window *window; /* the flow control of stdin; NULL: the client uses none */
	struct stdin_window own; /* a window that only this call uses; `window` may point to it */
	/* The client sends no more stdin, and the command's stdin was closed. */
	bool stdin_told_over;
	bool told; /* the client has got the message how the command ended */
};

void conns_init(struct conns *conns, struct loop *loop, const struct conn_form *unknown);
/* Frees the connections that have ended. Must be called between two rounds of the event loop. */
void conns_sweep(struct conns *conns);
/* Returns true if no connection has a message that must still be sent. */
bool conns_are_quiet(const struct conns *conns);
void conns_end(struct conns *conns); /* ends all connections of the agent at once */

/* Makes a connection from the socket `fd`. Takes ownership of `fd`. */
struct conn *conn_new(struct conns *conns, int fd, struct error *err);
/* Makes a connection from a stream of the mux. Takes ownership of the stream. */
struct conn *conn_new_carried(struct conns *conns, struct mux_stream *stream, struct error *err);
void conn_end(struct conn *conn); /* ends the connection at once; conns_sweep() frees the memory */

/* Functions that the code of the two forms (envelopes.c, frames.c) calls. */
void conn_set_form(struct conn *conn, const struct conn_form *form);
/* Records that a request has come, so that the connection is not closed as idle. */
void conn_asked(struct conn *conn);
/* Kills the connection's commands, sends `text`, and closes the connection when the text is sent.
 * Frees `text`. If `text` is NULL, there was no memory for it, and the connection ends at once. */
void conn_refuse(struct conn *conn, char *text);

/* Functions that calls use. A call calls conn_remove() for itself when its client has got the
 * answer. */
void conn_add(struct conn *conn, struct call *call);
void conn_remove(struct conn *conn, struct call *call);
/* Queues the message `text` in the form of the connection, and frees `text`. If `text` is NULL,
 * there was no memory for it, and the connection ends at once. */
void conn_say(struct conn *conn, char *text);
/* Continues to handle the bytes that have come. Must be called when a command's stdin has room
 * again, or when a command has ended. */
void conn_go_on(struct conn *conn);

#endif
