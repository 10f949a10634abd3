/* SPDX-License-Identifier: MIT */
/*
 * How much stdin of a request may be on its way to its command. The agent tells how far the command
 * has come; no more than LIMIT_STDIN_WINDOW_BYTES beyond that are sent, so that the agent never
 * stops reading the connection and what is behind the stdin (a cancel, another request) gets there.
 */
#ifndef CHANNEL_STDIN_CREDIT_H
#define CHANNEL_STDIN_CREDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct agent_message;

struct stdin_credit {
	uint64_t sent;	/* bytes */
	uint64_t taken; /* of these the command has */
	bool none;	/* an agent of another version, which does not tell */
};

/* How many bytes may be sent. */
size_t stdin_credit_room(const struct stdin_credit *credit);
/* What the agent says by `start` and `ack`. ERR_IO: the command cannot have taken that. */
int stdin_credit_take(struct stdin_credit *credit, const struct agent_message *message,
		      struct error *err);

#endif
