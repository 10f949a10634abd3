/* SPDX-License-Identifier: MIT */
/* The tools that run commands: `run` runs a command in a new machine, `exec` in a session. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "mcp/capture.h"
#include "mcp/server.h"
#include "mcp/tools.h"

/* A command that runs for a call, and its captured output. */
struct tool_command {
	struct mcp_call *call;
	struct mcp_capture capture;
	char accelerator[8];
};

static void take_output(void *data, bool is_stderr, const void *bytes, size_t len)
{
	struct tool_command *command = data;

	mcp_capture_take(&command->capture, is_stderr, bytes, len);
	call_tell(command->call, false, "%llu bytes of output",
		  (unsigned long long)mcp_capture_total(&command->capture));
}

static int take_session_output(void *data, enum microagent_output stream, const void *bytes,
			       size_t len)
{
	struct tool_command *command = data;

	take_output(data, stream == MICROAGENT_STDERR, bytes, len);
	return command->capture.out_of_memory;
}

static int64_t command_seconds(const struct mcp_call *call)
{
	return call_number(call, "timeoutSeconds", (int64_t)limit_get(LIMIT_MCP_COMMAND_S));
}

static void command_init(struct tool_command *command, struct mcp_call *call)
{
	*command = (struct tool_command){.call = call};
	mcp_capture_init(&command->capture, (size_t)call->server->options->result_bytes);
}

/* --- run ------------------------------------------------------------------------------------- */

static void machine_is_up(void *data, const char *name, const char *accelerator)
{
	struct tool_command *command = data;

	(void)name;
	snprintf(command->accelerator, sizeof(command->accelerator), "%s", accelerator);
	call_tell(command->call, true, "the guest is ready");
}

/* Returns the spec of a machine. The model chooses the command, the image and the time limit. The
 * person who started the server has chosen all other values. */
static struct microagent_spec machine_spec(const struct mcp_call *call, const char *const *words)
{
	const struct mcp_options *options = call->server->options;
	const char *image = call_text(call, "image"), *network = call_network(call);

	return (struct microagent_spec){
		.machine.network = network,
		.machine.allow = call_allow(call, network),
		.machine.egress = call_egress(call, network),
		.machine.memory_mib = options->memory_mib,
		.machine.cpus = options->cpus,
		.image = image		   ? image
			 : options->images ? options->images[0]
					   : NULL,
		.command = words,
		.timeout_seconds = command_seconds(call),
	};
}

static int run_machine(struct tool_command *command, const char *const *words,
		       struct microagent_outcome *outcome, struct error *err)
{
	struct mcp_call *call = command->call;
	const struct microagent_spec spec = machine_spec(call, words);
	const struct microagent_run_options options = {.started = machine_is_up, .data = command};
	const struct microagent_sink sink = {take_output, command};
	const json_t *text = json_object_get(call->arguments, "stdin");
	/* If the call gives no text, the command's stdin is empty. */
	autoclose int in =
		text ? fd_memfd("stdin", json_string_value(text), json_string_length(text), err)
		     : -1;
	int status = -1;
	const struct microagent_streams streams = {.in = in,
						   .out = -1,
						   .err = -1,
						   .cancel = microagent_cancel_fd(call->cancel),
						   .sink = &sink};
	struct microagent *agent =
		text && in < 0 ? NULL : mcp_open_agent(call->server->options, err);

	if (agent) {
		call_tell(call, true, "booting");
		microagent_on_wait(agent, call_waits_for_boot, call);
		status = microagent_run(agent, &spec, &options, &streams, outcome, err);
	}
	microagent_close(agent);
	return status;
}

int tool_run(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	autofree const char **words = call_words(call, "command", err);
	struct microagent_outcome outcome = {0};
	struct tool_command command;
	int status;

	if (!words || machines_reserve(&call->server->sessions, &call->room, 1, err) < 0)
		return -1;
	command_init(&command, call);
	status = run_machine(&command, words, &outcome, err);
	machines_release(&call->server->sessions, &call->room, 1);
	if (status == 0 && outcome.end != MICROAGENT_EXITED)
		status = error_set(err, ERR_UNAVAILABLE, "cancelled");
	if (status == 0) {
		const struct command_end end = {.exit_code = outcome.exit_code,
						.signal = outcome.signal,
						.timed_out = outcome.timed_out,
						.elapsed_ms = outcome.elapsed_ms,
						.start_error = outcome.start_error,
						.accelerator = command.accelerator};

		status = answer_command(call, answer, &command.capture, &end, NULL,
					mcp_run_number(&call->server->sessions), err);
	}
	mcp_capture_free(&command.capture);
	return status;
}

/* --- exec ------------------------------------------------------------------------------------ */

static void free_variables(char **variables)
{
	for (char **variable = variables; variable && *variable; variable++)
		free(*variable);
	free(variables);
}

/* Returns the variables of the argument "env" as an array of "KEY=VALUE" that ends with NULL. */
static char **variables_of(const struct mcp_call *call, struct error *err)
{
	json_t *env = json_object_get(call->arguments, "env"), *value;
	char **variables = calloc(json_object_size(env) + 1, sizeof(*variables));
	const char *name;
	size_t count = 0;

	if (!variables) {
		error_errno(err, ENOMEM, "env");
		return NULL;
	}
	json_object_foreach(env, name, value)
	{
		if (strchr(name, '=')) {
			error_set(
				err, ERR_INVALID,
				"env has a variable with \"=\" in its name, which no name can have: write {\"NAME\": \"VALUE\"}");
			goto failed;
		}
		if (asprintf(&variables[count], "%s=%s", name, json_string_value(value)) < 0) {
			variables[count] = NULL;
			error_errno(err, ENOMEM, "env");
			goto failed;
		}
		if (microagent_check_env(variables[count++], err) < 0)
			goto failed;
	}
	return variables;
failed:
	free_variables(variables);
	return NULL;
}

static int exec_in_session(struct mcp_call *call, struct mcp_session *session,
			   const char *const *words, char *const *variables,
			   struct mcp_answer *answer, struct error *err)
{
	const struct microagent_exec exec = {
		.command = words,
		.env = (const char *const *)variables,
		.cwd = call_text(call, "cwd"),
		.user = call_text(call, "user"),
	};
	const json_t *text = json_object_get(call->arguments, "stdin");
	const struct microagent_run_limits limits = {
		.stdin_bytes = json_string_value(text),
		.stdin_len = json_string_length(text),
		.timeout_ms = (uint32_t)command_seconds(call) * 1000,
		.cancel = call->cancel,
	};
	struct tool_command command;
	const struct microagent_callbacks callbacks = {.output = take_session_output,
						       .data = &command};
	struct microagent_result result = {0};
	int status;

	command_init(&command, call);
	status = microagent_session_stream(session->handle, &exec, MICROAGENT_CHUNKS, &callbacks,
					   &limits, &result, err);
	if (status == 0) {
		const struct command_end end = {.exit_code = result.exit_code,
						.signal = result.signal,
						.timed_out = result.timed_out,
						.elapsed_ms = result.elapsed_ms,
						.start_error = result.start_error};

		status = answer_command(call, answer, &command.capture, &end,
					microagent_session_name(session->handle),
					mcp_session_number(&call->server->sessions, session), err);
	}
	microagent_result_free(&result);
	mcp_capture_free(&command.capture);
	return status;
}

int tool_exec(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	autofree const char **words = call_words(call, "command", err);
	char **variables = words ? variables_of(call, err) : NULL;
	struct mcp_session *session = variables ? call_session(call, err) : NULL;
	const char *name = call_text(call, "session");
	int status = -1;
	bool made;

	if (session) {
		status = exec_in_session(call, session, words, variables, answer, err);
		/* Before this output was kept, another call may have destroyed the session and
		 * dropped its kept output. This output must then be dropped too. */
		if (!mcp_session_is_known(&call->server->sessions, name, &made))
			kept_drop(&call->server->kept, name);
		mcp_session_give(&call->server->sessions, session);
	}
	free_variables(variables);
	return status;
}
