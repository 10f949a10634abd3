/* SPDX-License-Identifier: MIT */
/*
 * A connection to the agent, in whichever form its first byte chooses.
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
#include "guest/agent/call.h"
#include "guest/agent/request.h"

enum conn_form { FORM_UNKNOWN, FORM_ENVELOPE, FORM_FRAME };

struct server;

struct conn {
	struct server *server;
	struct conn *next, **link;
	struct framed wire;
	enum conn_form form;
	struct loop_watch *idle; /* until the first request; in the envelope form until the next */
	struct call *calls;
	size_t ncalls;
	struct envelope_scan scan;
	size_t stdin_taken; /* of the frame at the front of the queue */
	bool waiting;	    /* for room in a command's stdin */
	bool held;	    /* an envelope arrived while a terminal is open */
	bool streaming;	    /* there was a streaming request, or a PTY */
	bool closing;	    /* when all is sent */
	bool dead;
	bool busy;	   /* its messages are being worked through */
	bool asked;	   /* there was a request */
	bool has_workload; /* the workload's client, also after its exit was said */
};

/* Takes over fd. */
struct conn *conn_new(struct server *server, int fd, struct error *err);
void conn_end(struct conn *conn); /* at once; the memory is swept later */
void conn_free(struct conn *conn);

/* For calls. A call that has been answered takes itself off. */
void conn_add(struct conn *conn, struct call *call);
void conn_remove(struct conn *conn, struct call *call);
/* Queues a message in the form of the connection and frees it; NULL (no memory) ends it. */
void conn_say(struct conn *conn, char *text);
/* Room in a command's stdin, or the end of one: goes on with what has arrived. */
void conn_go_on(struct conn *conn);

#endif
