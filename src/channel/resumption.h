/* SPDX-License-Identifier: MIT */
/*
 * The client's side of a resumable exec, whichever connection it is on: how far the caller has come
 * with each stream of output, and the stdin that the command may not have taken yet. Part of
 * struct calls, which is its only user.
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
	bool on; /* asked for, and granted as far as is known */
	char exec[RESUMPTION_ID + 1];
	uint64_t number;		    /* of the request, on every connection */
	struct buf opening;		    /* the request itself, for an agent that never got it */
	uint64_t taken[RESUMPTION_STREAMS]; /* output that the caller is done with */
	uint64_t acknowledged[RESUMPTION_STREAMS];
	struct buf kept; /* stdin that may have to be sent again */
	bool stdin_closed, cancelled;
	bool attaching; /* on a new connection that has not said start yet */
};

/* Makes up the id; the rest is zero. */
int resumption_begin(struct resumption *r, uint64_t number, struct error *err);
void resumption_free(struct resumption *r); /* off from now on */

/* Queues the attach of a new connection, and what was said for good on the earlier ones. */
int resumption_attach(struct resumption *r, struct buf *out, struct error *err);
/* The agent has started it here, or goes on with it: what is kept is queued for it then. */
int resumption_start(struct resumption *r, struct buf *out, struct error *err);
/* The agent never had the request: it is queued again. */
int resumption_ask_again(struct resumption *r, struct buf *out, struct error *err);
/* Of what was sent the command has all but this much. */
void resumption_forget(struct resumption *r, uint64_t flying);
/* The caller is done with len more bytes, which is told to the agent from time to time. */
int resumption_took(struct resumption *r, enum microagent_output stream, size_t len,
		    struct buf *out, struct error *err);
/* How many bytes of stdin can be kept, and so may be sent. */
size_t resumption_room(const struct resumption *r);

#endif
