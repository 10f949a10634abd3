/* SPDX-License-Identifier: MIT */
/*
 * A connection to the agent, and what it has to know of the calls on it. A call is one request that
 * runs, from its job's start to its answer; call.h has what calls do.
 *
 * What arrives is worked on by the connection's form, which its first byte chooses and which starts
 * the calls. A call says its words (conn_say) or lays frames into the connection's queue itself,
 * and has the connection go on where that waited for it (conn_go_on). The other way round the
 * connection tells a call what happens to it through the table of its kind, and knows no kind.
 *
 * Envelope form: requests one after the other, until the client sends no more or is idle for long.
 * Buffered frames: the agent closes after the answer when nothing more has been asked. A connection
 * that has streamed stays until the client closes it. A client that is gone has its commands
 * killed, but for resumable ones, and its terminals hung up.
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
	enum limit most; /* bytes of one message */
	int (*send)(struct framed *wire, const char *text, struct error *err);
	/* Works on what has arrived. true: there may be more to do. */
	bool (*step)(struct conn *conn);
	/* Whether more is to be read now; NULL: always. */
	bool (*may_read)(const struct conn *conn);
	bool repeats; /* after an answer there may be another request */
};

/* What the connections of an agent share. */
struct conns {
	struct loop *loop;
	struct list live, dead;
	size_t count;			 /* live ones */
	const struct conn_form *unknown; /* the form of one whose first byte has not come */
	/* For who starts calls. */
	struct exec_context *context;
	struct workload *workload;
	struct resumables *resumables;
};

struct conn {
	struct conns *all;
	struct list_link link;
	struct framed wire;
	const struct conn_form *form;
	struct loop_watch *idle; /* until the first request; where it repeats until the next */
	struct list calls;	 /* the newest first */
	size_t ncalls;
	struct envelope_scan scan;
	size_t stdin_taken; /* of the frame at the front of the queue */
	bool waiting;	    /* for room in a command's stdin */
	bool held;	    /* an envelope arrived while a terminal is open */
	bool streaming;	    /* there was a streaming request, or a PTY */
	bool closing;	    /* when all is sent */
	bool dead;
	bool busy;  /* its messages are being worked through */
	bool asked; /* there was a request */
	/* Has it closed? Told to the workload, whose client it is or was. */
	void (*closed)(void *data);
	void *closed_data;
};

struct call_kind {
	size_t size; /* of the struct that a struct call begins */
	/* What the client is told at the end. NULL: no memory. */
	char *(*answer)(struct call *call, const struct job_end *end, struct error *err);
	/* An event from the client about it; NULL where the form has none. */
	int (*event)(struct call *call, const struct request *request, struct error *err);
	/* The client sends no more at all; NULL where it could send no stdin anyway. */
	void (*input_ended)(struct call *call);
	/* The connection has room again. */
	void (*drained)(struct call *call);
	/* The connection is gone, and the call off it: settles what becomes of the command, and
	 * frees the call. */
	void (*abandon)(struct call *call);
	/* What it holds beyond a struct call; NULL: nothing. */
	void (*drop)(struct call *call);
};

struct call {
	struct conn *conn;
	struct list_link link;
	const struct call_kind *kind;
	struct job *job; /* NULL: it has not started, or has ended */
	char *id;	 /* the client's, never NULL */
	uint64_t number;
	struct stdin_window *window; /* NULL: the client has none to keep to */
	struct stdin_window own;     /* which window may be */
	bool stdin_told_over;	     /* the client sends no more, and the command knows */
	bool told;		     /* the client has had the exit */
};

void conns_init(struct conns *conns, struct loop *loop, const struct conn_form *unknown);
/* Frees those that have ended; between rounds of the loop. */
void conns_sweep(struct conns *conns);
/* Whether everything that was said has been sent. */
bool conns_are_quiet(const struct conns *conns);
void conns_end(struct conns *conns); /* all, at once */

/* Takes over fd. */
struct conn *conn_new(struct conns *conns, int fd, struct error *err);
/* The same for a stream of the mux. */
struct conn *conn_new_carried(struct conns *conns, struct mux_stream *stream, struct error *err);
void conn_end(struct conn *conn); /* at once; the memory is swept later */

/* For forms. */
void conn_set_form(struct conn *conn, const struct conn_form *form);
/* There is a request: the connection is not idle. */
void conn_asked(struct conn *conn);
/* Ends the connection's commands, says text (taken over; NULL: no memory), and closes when that has
 * been sent. */
void conn_refuse(struct conn *conn, char *text);

/* For calls. One that has been answered takes itself off. */
void conn_add(struct conn *conn, struct call *call);
void conn_remove(struct conn *conn, struct call *call);
/* Queues a message in the form of the connection and frees it; NULL (no memory) ends it. */
void conn_say(struct conn *conn, char *text);
/* Room in a command's stdin, or the end of one: goes on with what has arrived. */
void conn_go_on(struct conn *conn);

#endif
