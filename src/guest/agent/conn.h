/* SPDX-License-Identifier: MIT */
/*
 * A connection to the agent, and the calls on it. A call is one request, from the start of its job
 * to its answer; call.h has the functions of calls.
 *
 * The first byte of the connection chooses its form. The form handles the bytes that come, and
 * starts the calls. A call sends its messages with conn_say(), or puts frames into the connection's
 * queue itself. If the connection waits for a call, the call lets it go on with conn_go_on(). The
 * connection calls a call only through the functions of the call's kind.
 *
 * Envelope form: requests come one after the other, until the client sends no more or is idle for
 * long. Frame form: if no request wanted a stream, the agent closes the connection after the last
 * answer; else the connection is open until the client closes it. If a client goes away, its
 * commands are killed, except resumable ones, and its terminals are hung up.
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
	enum limit most; /* the most bytes of one message */
	int (*send)(struct framed *wire, const char *text, struct error *err);
	/* Handles the bytes that have come. Returns true if there may be more to do. */
	bool (*step)(struct conn *conn);
	/* Returns true if more bytes may be read now; NULL: always. */
	bool (*may_read)(const struct conn *conn);
	bool repeats; /* after an answer another request may come */
};

/* The state that all connections of an agent share. */
struct conns {
	struct loop *loop;
	struct list live, dead;
	size_t count;			 /* the number of live connections */
	const struct conn_form *unknown; /* the form until the first byte has come */
	/* Used by the functions that start calls. */
	struct exec_context *context;
	struct workload *workload;
	struct resumables *resumables;
};

struct conn {
	struct conns *all;
	struct list_link link;
	struct framed wire;
	const struct conn_form *form;
	/* The time for the first request, and, if the form repeats, for each next one. */
	struct loop_watch *idle;
	struct list calls; /* the newest first */
	size_t ncalls;
	struct envelope_scan scan;
	size_t stdin_taken; /* the bytes that were taken of the first frame of the input */
	bool waiting;	    /* the connection waits for room in a command's stdin */
	bool held;	    /* a request of the envelope form has come while a terminal is open */
	bool streaming;	    /* a request wanted a stream or a terminal */
	bool closing;	    /* the connection is closed when everything is sent */
	bool dead;
	bool busy;  /* the messages of the connection are being handled */
	bool asked; /* a request has come */
	/* Called when the connection has closed. The workload sets it for its client. */
	void (*closed)(void *data);
	void *closed_data;
};

struct call_kind {
	size_t size; /* the size of the kind's struct, which begins with a struct call */
	/* Returns the message to the client about the end; NULL if there is no memory. */
	char *(*answer)(struct call *call, const struct job_end *end, struct error *err);
	/* Handles an event of the client about the call; NULL if the form has no events. */
	int (*event)(struct call *call, const struct request *request, struct error *err);
	/* Called when the client has shut down its side of the connection; NULL: the call takes no
	 * stdin. */
	void (*input_ended)(struct call *call);
	/* Called when the connection has room for output again. */
	void (*drained)(struct call *call);
	/* Called when the connection has ended, and the call was removed from it. Decides what
	 * happens to the command, and frees the call. */
	void (*abandon)(struct call *call);
	/* Frees the members that the kind's struct has after the struct call; NULL: there are none
	 * to free. */
	void (*drop)(struct call *call);
};

struct call {
	struct conn *conn;
	struct list_link link;
	const struct call_kind *kind;
	struct job *job; /* NULL: not started yet, or has ended */
	char *id;	 /* the client's id, never NULL */
	uint64_t number;
	struct stdin_window *window; /* NULL: the client has no window to respect */
	struct stdin_window own; /* the window of this call alone, to which `window` may point */
	/* The client sends no more stdin, and the command's stdin was closed. */
	bool stdin_told_over;
	bool told; /* the client has been told the exit */
};

void conns_init(struct conns *conns, struct loop *loop, const struct conn_form *unknown);
/* Frees the connections that have ended. To be called between rounds of the loop. */
void conns_sweep(struct conns *conns);
/* Returns true if every message has been sent. */
bool conns_are_quiet(const struct conns *conns);
void conns_end(struct conns *conns); /* ends all connections at once */

/* Makes a connection and takes over `fd`. */
struct conn *conn_new(struct conns *conns, int fd, struct error *err);
/* Makes a connection for a stream of the mux, which it takes over. */
struct conn *conn_new_carried(struct conns *conns, struct mux_stream *stream, struct error *err);
void conn_end(struct conn *conn); /* ends at once; conns_sweep() frees the memory */

/* Functions for forms. */
void conn_set_form(struct conn *conn, const struct conn_form *form);
/* Notes that there is a request, so that the connection is not idle. */
void conn_asked(struct conn *conn);
/* Ends the connection's commands, sends `text`, and closes the connection when the text has been
 * sent. Takes over `text`; NULL: there was no memory for it. */
void conn_refuse(struct conn *conn, char *text);

/* Functions for calls. A call that has been answered removes itself. */
void conn_add(struct conn *conn, struct call *call);
void conn_remove(struct conn *conn, struct call *call);
/* Queues a message in the form of the connection, and frees `text`. NULL (no memory) ends the
 * connection. */
void conn_say(struct conn *conn, char *text);
/* Goes on to handle the bytes that have come. Must be called when a command's stdin has room again,
 * or a command has ended. */
void conn_go_on(struct conn *conn);

#endif
