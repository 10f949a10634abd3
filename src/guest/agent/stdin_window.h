/* SPDX-License-Identifier: MIT */
/*
 * Stdin of a command whose client sends no more of it than it was told it may: what the command has
 * not taken is kept here, LIMIT_STDIN_WINDOW_BYTES of it at most, and so the connection is read on
 * whatever the command does. Bytes are counted from the first; the client is told how far the
 * command has come.
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
	bool on;	    /* the client keeps to it */
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
