/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "api/pause.h"
#include "base/cleanup.h"
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
	uint64_t deadline = limit_deadline(LIMIT_DIAL_MS);

	return dial_guest(ws->fd, AGENT_PORT, deadline, err);
}

int stream_run(const struct workspace *ws, struct agent_stream *stream,
	       const struct microagent_streams *streams, const struct pump_terminal *terminal,
	       bool whole_guest, struct microagent_outcome *outcome, struct error *err)
{
	autoclose int agent = stream_dial(ws, err);

	return agent < 0 ? -1
			 : stream_run_on(ws, agent, stream, streams, terminal, whole_guest, outcome,
					 err);
}

static int redial(void *data, struct error *err)
{
	return stream_dial(data, err);
}

int stream_run_on(const struct workspace *ws, int agent, struct agent_stream *stream,
		  const struct microagent_streams *streams, const struct pump_terminal *terminal,
		  bool whole_guest, struct microagent_outcome *outcome, struct error *err)
{
	const struct microagent_signals *signals = streams->signals;
	const struct microagent_sink *sink = streams->sink;
	const struct pump_signals their_signals =
		signals ? (struct pump_signals){signals->fd, signals->next, signals->data}
			: (struct pump_signals){0};
	const struct pump_sink their_sink =
		sink ? (struct pump_sink){sink->take, sink->data} : (struct pump_sink){0};
	const struct pump_redial again = {redial, (void *)(uintptr_t)ws};
	struct pause pause;
	struct pump_pause still = {-1, pause_look, &pause};
	const struct pump_fds fds = {
		.in = streams->in,
		.out = streams->out,
		.err = streams->err,
		.cancel = streams->cancel,
		.terminal = terminal,
		.signals = signals ? &their_signals : NULL,
		.sink = sink ? &their_sink : NULL,
		.redial = &again,
		.pause = &still,
	};
	struct agent_exit exit = {0};
	enum pump_end end;
	int result;

	pause_begin(&pause, ws, streams);
	still.fd = pause.fd;
	result = pump_run(agent, stream, &fds, whole_guest ? PUMP_CANCEL_RETURN : PUMP_CANCEL_KILL,
			  &end, &exit, err);
	pause_end(&pause);
	if (result < 0)
		return -1;
	*outcome = (struct microagent_outcome){
		.end = ends[end],
		.exit_code = exit.timed_out ? TIMED_OUT : exit.exit_code,
		.signal = exit.signal,
		.timed_out = exit.timed_out,
		.killed = exit.killed,
		.elapsed_ms = exit.elapsed_ms,
	};
	snprintf(outcome->start_error, sizeof(outcome->start_error), "%s", exit.start_error);
	return 0;
}
