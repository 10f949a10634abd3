/* SPDX-License-Identifier: MIT */
/*
 * How much stdin may be on its way to a command: the sender's end of the guest's
 * guest/agent/stdin_window.h. The agent tells how far the command has come; no more than
 * LIMIT_STDIN_WINDOW_BYTES beyond that are sent, so that the agent never stops reading the
 * connection and what is behind the stdin (a cancel, another request) gets there.
 */
#ifndef CHANNEL_STDIN_WINDOW_H
#define CHANNEL_STDIN_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct agent_message;

struct stdin_window_sender {
	uint64_t sent;	/* bytes */
	uint64_t taken; /* of these the command has */
	bool none;	/* an agent of another version, which does not tell */
};

/* How many bytes may be sent. */
size_t stdin_window_room(const struct stdin_window_sender *window);
/* What the agent says by `start` and `ack`. ERR_IO: the command cannot have taken that. */
int stdin_window_take(struct stdin_window_sender *window, const struct agent_message *message,
		      struct error *err);

#endif
