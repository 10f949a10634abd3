/* SPDX-License-Identifier: MIT */
#include "api/stream.h"

#include "api/pause.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "channel/dial.h"
#include "channel/pump.h"

int stream_dial(const struct workspace *ws, struct buf *first, struct error *err)
{
	return dial_blocking(ws->fd, AGENT_PORT, first, limit_deadline(LIMIT_DIAL_MS), err);
}

static int redial(void *data, struct error *err)
{
	const struct pause *pause = data;

	return stream_dial(pause->ws, NULL, err);
}

int stream_run(const struct workspace *ws, struct connection *connection, struct agent_call *call,
	       const struct microagent_streams *streams, struct microagent_outcome *outcome,
	       struct error *err)
{
	const struct microagent_terminal *terminal = call->exec ? call->exec->terminal : NULL;
	/* A call that can be resumed is sent only after the connection was made. So if no
	 * connection is made, the command was certainly not started. Any other call is sent
	 * together with the request for the connection (`first`). */
	struct buf *first = calls_can_resume(&connection->calls) ? NULL : &connection->calls.out;
	struct pause pause;
	const struct pump_guest guest = {.dial = redial,
					 .is_paused = pause_look,
					 .watch_pauses = pause_watch,
					 .data = &pause};
	int result;

	connection->fd = stream_dial(ws, first, err);
	if (connection->fd < 0)
		return -1;
	if (terminal && terminal->connected)
		terminal->connected(terminal->connected_data);
	pause_begin(&pause, ws, streams);
	result = pump_run(connection, call, streams, &guest, outcome, err);
	pause_end(&pause);
	return result;
}

int stream_exec(const struct workspace *ws, const struct microagent_exec *exec,
		const struct microagent_streams *streams, struct microagent_outcome *outcome,
		struct error *err)
{
	enum agent_input input = streams->in >= 0 ? AGENT_INPUT_STDIN : AGENT_INPUT_NONE;
	struct connection connection;
	struct agent_call call = {0};
	int result;

	connection_init(&connection);
	result = calls_begin(&connection.calls, &call, exec, input, err);
	if (result == 0)
		result = stream_run(ws, &connection, &call, streams, outcome, err);
	connection_close(&connection);
	return result;
}
