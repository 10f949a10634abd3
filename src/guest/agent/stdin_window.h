/* SPDX-License-Identifier: MIT */
/*
 * The agent's side of the flow control for a command's stdin. channel/stdin_credit has the client's
 * side. The agent tells the client how many bytes of stdin the command has read. The client sends
 * at most LIMIT_STDIN_WINDOW_BYTES above this number. The window stores bytes that the command has
 * not read yet, so that the agent can go on to read from the connection. An offset counts bytes
 * from the first byte of stdin.
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
	struct buf waiting; /* bytes that the command has not read */
	/* The offset of the first byte in `waiting`, which is the number of bytes that the command
	 * has read. */
	uint64_t taken;
	uint64_t told; /* the value of `taken` that the client was last sent */
	/* closing: the client has sent the end of stdin. over: the command's stdin was closed. */
	bool closing, over;
};

void stdin_window_open(struct stdin_window *window);
/* Drops the waiting bytes. The client keeps a copy of these bytes, and can send them again. Accepts
 * a struct whose members are all 0. */
void stdin_window_drop(struct stdin_window *window);

/* In the functions below, `job` is NULL if the command has ended. Bytes for such a command are
 * dropped, and count as read. */
/* Takes all `len` bytes. Fails with ERR_INVALID if more than LIMIT_STDIN_WINDOW_BYTES would then
 * wait in the window. */
int stdin_window_put(struct stdin_window *window, struct job *job, const void *bytes, size_t len,
		     struct error *err);
/* Closes the command's stdin after the waiting bytes were written. A second call does nothing,
 * since a terminal must not get an end-of-file character twice. */
void stdin_window_close(struct stdin_window *window, struct job *job);
/* Gives waiting bytes to the command. Must be called when the command's stdin has room again, or
 * when the command has ended. */
void stdin_window_feed(struct stdin_window *window, struct job *job);
/* Returns true if the caller must send `taken` to the client now. */
bool stdin_window_is_due(struct stdin_window *window);

#endif
