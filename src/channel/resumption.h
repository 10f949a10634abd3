/* SPDX-License-Identifier: MIT */
/*
 * The client's side of a resumable exec, across its connections: how much of each output the caller
 * has used, and the stdin that the command may not have taken yet. It is a part of struct calls,
 * which is its only user.
 */
#ifndef CHANNEL_RESUMPTION_H
#define CHANNEL_RESUMPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "microagent/exec.h"

#define RESUMPTION_ID 32 /* hexadecimal digits */
#define RESUMPTION_STREAMS (MICROAGENT_STDERR + 1)

struct resumption {
	bool on; /* resumption was asked for, and as far as is known granted */
	char exec[RESUMPTION_ID + 1];
	uint64_t number;		    /* the number of the request, the same on every
					     * connection */
	struct buf opening;		    /* the request itself, for an agent that never got it */
	uint64_t taken[RESUMPTION_STREAMS]; /* output bytes that the caller has used */
	uint64_t acknowledged[RESUMPTION_STREAMS];
	struct buf kept; /* stdin that may have to be sent again */
	bool stdin_closed, cancelled;
	bool attaching; /* on a new connection on which the agent has not said start yet */
};

/* Makes up the id; everything else is zero. */
int resumption_begin(struct resumption *r, uint64_t number, struct error *err);
void resumption_free(struct resumption *r); /* it is off from then on */

/* Queues the attach on a new connection, and the cancel if there was one. */
int resumption_attach(struct resumption *r, struct buf *out, struct error *err);
/* Called when the agent has started the command here, or continues it. On a new connection it
 * queues the kept stdin again, and its end. */
int resumption_start(struct resumption *r, struct buf *out, struct error *err);
/* Called when the agent never got the request: queues it again. */
int resumption_ask_again(struct resumption *r, struct buf *out, struct error *err);
/* Drops the stdin that the command has taken: all that was sent except `flying` bytes. */
void resumption_forget(struct resumption *r, uint64_t flying);
/* Notes that the caller has used len more bytes of output, and tells the agent from time to
 * time. */
int resumption_took(struct resumption *r, enum microagent_output stream, size_t len,
		    struct buf *out, struct error *err);
/* Returns how many bytes of stdin can be kept, and so may be sent. */
size_t resumption_room(const struct resumption *r);

#endif
