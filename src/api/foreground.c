/* SPDX-License-Identifier: MIT */
#include "api/foreground.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

#define TICK_MS 200

/* Waits for an event of the supervisor, or for a short time. Returns -1 if the wait was cancelled
 * or poll() failed. Then the calling function must end the machine. */
static int wait_event(const struct microagent *agent, const struct supervisor_run *run, int cancel,
		      struct error *err)
{
	struct pollfd slots[2] = {{.fd = run->events, .events = POLLIN},
				  {.fd = cancel, .events = POLLIN}};
	int got = poll(slots, ARRAY_SIZE(slots), agent->wait_fn ? TICK_MS : -1);

	if (got < 0 && errno != EINTR)
		return error_errno(err, errno, "poll");
	if (got > 0 && slots[1].revents)
		return error_set(err, ERR_UNAVAILABLE, "cancelled");
	if (got == 0 && agent->wait_fn)
		agent->wait_fn(agent->wait_data);
	return 0;
}

/* Sets the error that says why the machine never started. The supervisor's answer contains the
 * reason. Returns -1. */
static int foreground_explain(struct supervisor_run *run, struct error *err)
{
	json_auto_t *answer = NULL;
	struct error why = {0};
	int code;

	supervisor_run_cut(run);
	answer = supervisor_run_finish(run, NULL, &code, &why);
	if (answer)
		(void)supervisor_error(answer, &why);
	return why.code ? error_copy(err, &why) : -1;
}

int foreground_boot(const struct microagent *agent, const json_t *request, const char *option,
		    bool keep, int cancel, struct supervisor_run *out, struct error *err)
{
	autofree char *path = request_supervisor(agent, request, err);

	if (!path || supervisor_run_start(path, request, option, keep, out, err) < 0)
		return -1;
	for (;;) {
		json_auto_t *event = NULL;
		int got = supervisor_run_event(out, &event, err);
		const char *state = json_text(event, "state", NULL);

		if (got < 0)
			return foreground_explain(out, err);
		if (got == 0 && wait_event(agent, out, cancel, err) < 0)
			return -1;
		if (got > 0 && state && strcmp(state, state_names[STATE_RUNNING]) == 0)
			return 0;
	}
}
