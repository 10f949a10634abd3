/* SPDX-License-Identifier: MIT */
/*
 * The client's side of a resumable exec, which lasts over several connections. This struct records
 * how much of each output the caller has used, and holds the stdin that the command may not have
 * taken yet. The struct is a part of struct calls, and only calls.c uses it.
 */
#ifndef CHANNEL_RESUMPTION_H
#define CHANNEL_RESUMPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "microagent/exec.h"

/* The number of hexadecimal digits in the id of a resumable exec. */
#define RESUMPTION_ID 32
#define RESUMPTION_STREAMS (MICROAGENT_STDERR + 1)

struct resumption {
	bool on; /* true: the exec is resumable: the caller has asked for that, and the agent has
		  * not refused */
	char exec[RESUMPTION_ID + 1];
	uint64_t number;		    /* the number of the request, which is the same on every
					     * connection */
	struct buf opening;		    /* the request for the command, which is sent again if
					     * the agent never got it */
	uint64_t taken[RESUMPTION_STREAMS]; /* the number of bytes of each output that the caller
					     * has used */
	uint64_t acknowledged[RESUMPTION_STREAMS]; /* the value of `taken` that the agent was told
						    * last */
	struct buf kept;			   /* stdin that may have to be sent again */
	bool stdin_closed, cancelled;
	bool attaching; /* true: the connection is new, and the agent has not sent the message
			 * "start" over it yet */
};

/* Makes the exec resumable, with a random id. */
int resumption_begin(struct resumption *r, uint64_t number, struct error *err);
void resumption_free(struct resumption *r); /* also sets `on` to false, so that the exec cannot be
					     * resumed */

/* Queues the "attach" for a new connection. If the call was cancelled, also queues the "cancel"
 * again. */
int resumption_attach(struct resumption *r, struct buf *out, struct error *err);
/* Is called when the agent has sent a start: it has started the command, or continues it on this
 * connection. On a new connection, queues the kept stdin again, and the end of stdin if it was
 * closed. */
int resumption_start(struct resumption *r, struct buf *out, struct error *err);
/* Is called when the agent has never got the request. Queues the request again. */
int resumption_ask_again(struct resumption *r, struct buf *out, struct error *err);
/* Drops the stdin that the command has taken: all kept bytes except the last `flying` bytes. */
void resumption_forget(struct resumption *r, uint64_t flying);
/* Notes that the caller has used `len` more bytes of output. Whenever the caller has used
 * LIMIT_ACK_BYTES more, queues a message that tells the agent how much was used. */
int resumption_took(struct resumption *r, enum microagent_output stream, size_t len,
		    struct buf *out, struct error *err);
/* Returns how many more bytes of stdin can be kept. The caller may not send more bytes than this
 * number. */
size_t resumption_room(const struct resumption *r);

#endif
