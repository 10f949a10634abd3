/* SPDX-License-Identifier: MIT */
/* Runs a command in the guest on the caller's streams, over a separate connection. */
#ifndef API_STREAM_H
#define API_STREAM_H

#include "api/api.h"
#include "channel/connection.h"

/* Connects to the agent in the guest of `ws`. Returns the socket, which the caller closes, or -1
 * with err set. dial_blocking() describes `first`. */
int stream_dial(const struct workspace *ws, struct buf *first, struct error *err);
/* Runs a command, and moves bytes between the command and the streams until the command ends. */
int stream_exec(const struct workspace *ws, const struct microagent_exec *exec,
		const struct microagent_streams *streams, struct microagent_outcome *outcome,
		struct error *err);
/* Connects to the guest, and then does what stream_exec() does. The caller has begun the call
 * `call` on `connection`, which must not have a socket yet. */
int stream_run(const struct workspace *ws, struct connection *connection, struct agent_call *call,
	       const struct microagent_streams *streams, struct microagent_outcome *outcome,
	       struct error *err);

#endif
