/* SPDX-License-Identifier: MIT */
/*
 * Runs one machine for one command. The steps:
 *
 *   1. This process makes the directory and the disk, and starts the supervisor's foreground `run`.
 *   2. The supervisor sends the event "running".
 *   3. This process connects to the agent, attaches to the command and moves its bytes.
 *   4. The command exits, and this process closes the connection.
 *   5. The supervisor has the guest powered off, removes the workspace and answers.
 *
 * If a step fails or the caller cancels, this process cuts the lifeline. The supervisor then ends
 * the machine and cleans up, and this process waits for the supervisor. If this process is killed,
 * the kernel cuts the lifeline.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "api/stream.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

#define TICK_MS 200
#define NAME_TRIES 3

struct run {
	const struct microagent *agent;
	const struct microagent_run_options *options;
	const struct microagent_streams *streams;
	const char *name;
	struct creation made;
	struct supervisor_run supervisor;
	struct microagent_outcome outcome;
	bool has_outcome;
};

/* Returns the descriptor that is readable when the caller cancels. Called only while no command
 * runs that could receive a signal, so every signal means a cancel. */
static int run_cancel_fd(const struct run *run)
{
	return run->streams->signals ? run->streams->signals->fd : run->streams->cancel;
}

/* Waits for the supervisor. Returns 1 if the supervisor has sent bytes, 0 if the caller has
 * cancelled, or -1 with err set. */
static int run_wait_event(const struct run *run, struct error *err)
{
	for (;;) {
		struct pollfd slots[2] = {{.fd = run_cancel_fd(run), .events = POLLIN},
					  {.fd = run->supervisor.events, .events = POLLIN}};
		int got = poll(slots, ARRAY_SIZE(slots), run->agent->wait_fn ? TICK_MS : -1);

		if (got < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (got > 0)
			return slots[0].revents ? 0 : 1;
		if (run->agent->wait_fn)
			run->agent->wait_fn(run->agent->wait_data);
	}
}

/* Waits until the guest is ready. Returns 1 if it is ready, 0 if the caller has cancelled. Returns
 * -1 with ERR_UNAVAILABLE if the guest will never be ready; then the supervisor's answer says
 * why. */
static int run_wait_running(struct run *run, struct error *err)
{
	for (;;) {
		json_auto_t *event = NULL;
		const char *state = "";
		int got = supervisor_run_event(&run->supervisor, &event, err);

		if (got == 0) {
			got = run_wait_event(run, err);
			if (got <= 0)
				return got;
			continue;
		}
		/* The first event shows that the supervisor has recorded the workspace, so the
		 * workspace is no longer marked as unfinished. */
		if (got > 0)
			creation_done(&run->made);
		if (got < 0 ||
		    json_get_string(event, "event", "state", JSON_OPTIONAL, &state, err) < 0)
			return -1;
		if (strcmp(state, state_names[STATE_RUNNING]) == 0)
			return 1;
	}
}

static int run_workload(struct run *run, int64_t timeout_seconds, struct error *err)
{
	struct connection connection;
	struct agent_call call = {0};
	int result;

	connection_init(&connection);
	result = calls_begin_workload(&connection.calls, &call, err);
	call.timeout_seconds = timeout_seconds;
	if (result == 0 && run->streams->in < 0)
		result = calls_stdin_close(&connection.calls, &call, err);
	if (result == 0)
		result = stream_run(&run->made.ws, &connection, &call, run->streams, &run->outcome,
				    err);
	run->has_outcome = result == 0;
	connection_close(&connection);
	return result;
}

/* Waits for the machine and then for the command, from the machine's first event until the
 * command's streams have ended. */
static int run_follow(struct run *run, int64_t timeout_seconds, struct error *err)
{
	int got = run_wait_running(run, err);

	if (got < 0)
		return -1;
	if (got == 0) {
		run->outcome = (struct microagent_outcome){.end = MICROAGENT_CANCELLED};
		run->has_outcome = true;
		return 0;
	}
	if (run->options->started) {
		const struct open_workspace existing = {.ws = run->made.ws};
		char accelerator[8] = "";

		open_workspace_accelerator(&existing, accelerator, NULL);
		run->options->started(run->options->data, run->name, accelerator);
	}
	return run_workload(run, timeout_seconds, err);
}

/* Returns true if the error means that the connection was lost, because the guest has ended or is
 * ending. */
static bool run_is_lost(const struct error *err)
{
	return err->code == ERR_UNAVAILABLE || err->code == ERR_NOT_FOUND ||
	       err->code == ERR_TIMEOUT;
}

/* Waits until the machine has ended and the supervisor has cleaned up. */
static int run_finish(struct run *run, struct error *err)
{
	uint64_t halting_ms = run->options->keep ? limit_get(LIMIT_HALT_MS) : 0;
	/* The deadline is later than all deadlines that the supervisor itself has after the end of
	 * a command. It is needed if the supervisor hangs, because the user's signal may have been
	 * passed on to the command, so that it does not end this wait. */
	const struct supervisor_wait wait = {
		.fn = run->agent->wait_fn,
		.data = run->agent->wait_data,
		.cancel = run_cancel_fd(run),
		.deadline_ns = limit_deadline(LIMIT_KILL_MS) +
			       (limit_get(LIMIT_SETTLE_MS) + halting_ms) * NS_PER_MS};
	json_auto_t *answer = NULL;
	const char *detail;
	struct error why = {0};
	int code;

	/* If the connection was lost, the supervisor may soon report why the machine ended. If the
	 * supervisor reports nothing, the machine still lives without a connection, and is ended
	 * here. */
	if (!run->has_outcome)
		fd_wait(run->supervisor.answer, POLLIN, limit_deadline(LIMIT_LOST_MS), NULL);
	if (!run->has_outcome || run->outcome.end != MICROAGENT_EXITED)
		supervisor_run_cut(&run->supervisor);
	answer = supervisor_run_finish(&run->supervisor, &wait, &code, &why);
	if (run->has_outcome)
		return 0;
	/* If the connection was lost, the supervisor's last answer says why. Any other error is not
	 * changed, because then this process itself has ended the machine. */
	if (!err || !run_is_lost(err))
		return -1;
	detail = json_text(json_object_get(answer, "event"), "detail", NULL);
	if (!answer || supervisor_error(answer, &why) < 0)
		error_copy(err, &why);
	else if (detail)
		error_prefix(err, "the machine ended: %s", detail);
	return -1;
}

static int run_start_supervisor(struct run *run, const struct microagent_spec *spec,
				struct error *err)
{
	json_t *config = creation_config(run->agent, &run->made, spec, err);
	json_auto_t *request =
		config ? request_new(run->agent, "run", run->name, config, err) : NULL;
	autofree char *path = request ? request_supervisor(run->agent, request, err) : NULL;

	if (!path)
		return -1;
	return supervisor_run_start(path, request, NULL, run->options->keep, &run->supervisor, err);
}

static bool is_recorded(const struct workspace *ws)
{
	json_auto_t *record = workspace_read(ws, "workspace.json", NULL);

	return record != NULL;
}

static int run_made(struct run *run, const struct microagent_spec *spec,
		    struct microagent_outcome *outcome, struct error *err)
{
	struct error why = {0};
	int result = run_start_supervisor(run, spec, &why);

	if (result == 0) {
		run_follow(run, spec->timeout_seconds, &why);
		result = run_finish(run, &why);
		supervisor_run_free(&run->supervisor);
	}
	if (result < 0 && err)
		error_copy(err, &why);
	if (result == 0)
		*outcome = run->outcome;
	/* The supervisor removes a workspace that it has recorded. If the supervisor has refused
	 * the request, the workspace still exists and is removed here. */
	if (!run->options->keep || !is_recorded(&run->made.ws))
		creation_undo(&run->made);
	creation_free(&run->made);
	return result;
}

/* Makes the workspace under the given name. If no name is given, tries random names until one does
 * not exist yet. */
static int run_begin(struct run *run, const struct microagent_spec *spec, char made_up[NAME_ROOM],
		     struct error *err)
{
	struct error why = {0};

	if (run->name)
		return creation_begin(run->agent, run->name, spec, &run->made, err);
	run->name = made_up;
	for (int tries = 0; tries < NAME_TRIES; tries++) {
		if (name_random(made_up, err) < 0)
			return -1;
		if (creation_begin(run->agent, made_up, spec, &run->made, &why) == 0)
			return 0;
		if (why.code != ERR_CONFLICT)
			break;
	}
	return error_copy(err, &why);
}

int microagent_run(struct microagent *agent, const struct microagent_spec *spec,
		   const struct microagent_run_options *options,
		   const struct microagent_streams *streams, struct microagent_outcome *outcome,
		   struct error *err)
{
	static const struct microagent_run_options plain = {0};
	char made_up[NAME_ROOM];
	struct run run = {
		.agent = agent,
		.options = options ? options : &plain,
		.streams = streams,
		.name = options ? options->name : NULL,
		.made = CREATION_NONE,
		.supervisor = SUPERVISOR_RUN_NONE,
	};

	if (run_begin(&run, spec, made_up, err) < 0)
		return -1;
	run.made.runs = true;
	if (!creation_has_command(&run.made, spec)) {
		error_set(
			err, ERR_INVALID,
			"no command is given, and the image (%s) does not name one: give a command",
			run.made.image.name ? run.made.image.name : "none");
		creation_undo(&run.made);
		creation_free(&run.made);
		return -1;
	}
	return run_made(&run, spec, outcome, err);
}
