/* SPDX-License-Identifier: MIT */
/* Runs a command in the guest on the caller's streams, over a separate connection. */
#ifndef API_STREAM_H
#define API_STREAM_H

#include "api/api.h"
#include "channel/connection.h"

/* Returns a connected socket to the agent of the guest of `ws`, or -1. `first` is as for
 * dial_blocking(). */
int stream_dial(const struct workspace *ws, struct buf *first, struct error *err);
/* Runs a command, and moves bytes between the command and the streams until the command ends. */
int stream_exec(const struct workspace *ws, const struct microagent_exec *exec,
		const struct microagent_streams *streams, struct microagent_outcome *outcome,
		struct error *err);
/* Connects to the guest, and then works like stream_exec(), for a call that the caller has begun on
 * `connection`, which has no socket yet. */
int stream_run(const struct workspace *ws, struct connection *connection, struct agent_call *call,
	       const struct microagent_streams *streams, struct microagent_outcome *outcome,
	       struct error *err);

#endif
