/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "channel/dial.h"
#include "channel/pump.h"

static const enum microagent_end ends[] = {
	[PUMP_EXITED] = MICROAGENT_EXITED,
	[PUMP_CANCELLED] = MICROAGENT_CANCELLED,
	[PUMP_OUT_CLOSED] = MICROAGENT_OUT_CLOSED,
	[PUMP_DETACHED] = MICROAGENT_DETACHED,
};

#define TIMED_OUT 124

int stream_dial(const struct workspace *ws, struct error *err)
{
	uint64_t deadline = clock_mono_ns() + limit_get(LIMIT_DIAL_MS) * NS_PER_MS;

	return dial_guest(ws->fd, AGENT_PORT, deadline, err);
}

int stream_run(const struct workspace *ws, struct agent_stream *stream,
	       const struct microagent_streams *streams, const struct pump_terminal *terminal,
	       bool whole_guest, struct microagent_outcome *outcome, struct error *err)
{
	autoclose int agent = stream_dial(ws, err);

	return agent < 0
		       ? -1
		       : stream_run_on(agent, stream, streams, terminal, whole_guest, outcome, err);
}

int stream_run_on(int agent, struct agent_stream *stream, const struct microagent_streams *streams,
		  const struct pump_terminal *terminal, bool whole_guest,
		  struct microagent_outcome *outcome, struct error *err)
{
	const struct pump_fds fds = {streams->in, streams->out, streams->err, streams->cancel,
				     terminal};
	struct agent_exit exit = {0};
	enum pump_end end;

	if (pump_run(agent, stream, &fds, whole_guest ? PUMP_CANCEL_RETURN : PUMP_CANCEL_KILL, &end,
		     &exit, err) < 0)
		return -1;
	*outcome = (struct microagent_outcome){
		.end = ends[end],
		.exit_code = exit.timed_out ? TIMED_OUT : exit.exit_code,
		.timed_out = exit.timed_out,
	};
	snprintf(outcome->start_error, sizeof(outcome->start_error), "%s", exit.start_error);
	return 0;
}
