/* SPDX-License-Identifier: MIT */
/*
 * The receiver's end of the rule by which stdin is sent to a command; the sender's end is the
 * client's channel/stdin_credit. The client sends no more than LIMIT_STDIN_WINDOW_BYTES beyond what
 * it was told that the command has taken. What the command has not taken is kept here, so that the
 * connection is read on whatever the command does. Bytes are counted from the first.
 */
#ifndef GUEST_STDIN_WINDOW_H
#define GUEST_STDIN_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct job;

struct stdin_window {
	struct buf waiting; /* what the command has not taken */
	uint64_t taken;	    /* offset of its front */
	uint64_t told;	    /* the last such offset that the client was told */
	bool closing, over; /* the end has come; the command has been given it */
};

void stdin_window_open(struct stdin_window *window);
/* Drops what waits: the client has it still. Accepts a zeroed one. */
void stdin_window_drop(struct stdin_window *window);

/* job is NULL when the command has ended: what comes for it is dropped, and counts as taken. */
/* Takes all of it. ERR_INVALID: there would be more in the window than it holds. */
int stdin_window_put(struct stdin_window *window, struct job *job, const void *bytes, size_t len,
		     struct error *err);
/* Behind what waits. A second time is nothing: a terminal must not hear its end twice. */
void stdin_window_close(struct stdin_window *window, struct job *job);
/* The command has room again, or has ended. */
void stdin_window_feed(struct stdin_window *window, struct job *job);
/* Whether the client is to be told `taken` now; the caller does it. */
bool stdin_window_is_due(struct stdin_window *window);

#endif
