/* SPDX-License-Identifier: MIT */
/*
 * Runs a command in each child of a fork before the caller gets the child. The memory of all
 * children has the same contents at first, for example the state of a random number generator. Two
 * children could then draw the same random numbers. Only a command of the caller can make the
 * contents differ.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "api/guest.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "session/points/point.h"

/* The number of bytes of each stream that are kept, counted from the beginning of the stream. */
#define KEPT_BYTES 65536
#define LAST_LINE 200 /* size in bytes of the buffer for the last line of output */
/* The largest number of the command's words in the audit log, and the largest number of bytes that
 * these words may have together. */
#define NOTED_WORDS 64u
#define NOTED_BYTES ((size_t)4096)

static int64_t seconds_of(const struct microagent_exec *command)
{
	return command->timeout_seconds ? command->timeout_seconds
					: (int64_t)(limit_get(LIMIT_ON_FORK_MS) / 1000);
}

int on_fork_check(const struct microagent_exec *command, struct error *err)
{
	if (!command)
		return 0;
	if (!command->command || !command->command[0])
		return error_set(
			err, ERR_INVALID,
			"the command to be run in each fork is empty: give a program as its first word");
	if (command->terminal || command->resume_seconds)
		return error_set(
			err, ERR_INVALID,
			"the command of a fork cannot have a terminal and cannot be resumed: start it without both");
	if (command->timeout_seconds < 0 ||
	    (uint64_t)command->timeout_seconds > limit_get(LIMIT_ON_FORK_MOST_S))
		return error_set(err, ERR_INVALID,
				 "the timeout of the command of a fork can be at most %llu seconds",
				 (unsigned long long)limit_get(LIMIT_ON_FORK_MOST_S));
	return 0;
}

/* --- how the command ended ------------------------------------------------------------------- */

/* Writes the last line of the kept stderr to `out`, or the last line of the kept stdout if stderr
 * is empty. */
static void last_line(const struct microagent_result *result, char out[LAST_LINE])
{
	bool is_stderr = result->stderr_len > 0;
	const char *bytes = is_stderr ? result->stderr_bytes : result->stdout_bytes;
	size_t end = is_stderr ? result->stderr_len : result->stdout_len, begin;

	while (end > 0 && bytes[end - 1] == '\n')
		end--;
	for (begin = end; begin > 0 && bytes[begin - 1] != '\n';)
		begin--;
	if (end - begin > LAST_LINE - 1)
		end = begin + LAST_LINE - 1;
	snprintf(out, LAST_LINE, "%.*s", (int)(end - begin), bytes ? bytes + begin : "");
}

static int judge(const struct microagent_exec *command, const struct microagent_result *result,
		 struct error *err)
{
	char line[LAST_LINE];

	last_line(result, line);
	if (result->cancelled)
		return error_set(err, ERR_UNAVAILABLE, "cancelled");
	if (result->start_error[0])
		return error_set(err, ERR_IO, "the fork's command cannot be run: %s",
				 result->start_error);
	if (result->timed_out)
		return error_set(err, ERR_TIMEOUT,
				 "the fork's command did not end within %lld s%s%s",
				 (long long)seconds_of(command), *line ? ": " : "", line);
	if (result->signal)
		return error_set(err, ERR_IO, "the fork's command was ended by signal %d%s%s%s",
				 result->signal,
				 result->signal == SIGTERM
					 ? ", which also happens if the machine switches itself off"
					 : "",
				 *line ? ": " : "", line);
	if (result->exit_code)
		return error_set(err, ERR_IO, "the fork's command ended with exit code %d%s%s",
				 result->exit_code, *line ? ": " : "", line);
	return 0;
}

#define ENDING_TEXT 512

/* Writes the text ": it is STATE: DETAIL" about the child's machine to out. Writes "" if a process
 * of the machine still lives after a short wait, because the recorded state is then not final. */
static void describe_end(const struct microagent_session *child, char out[ENDING_TEXT])
{
	enum state state = STATE_UNKNOWN;
	struct open_workspace existing = {0};
	json_auto_t *event = NULL;

	*out = '\0';
	if (open_workspace_named(child->agent, child->id, &existing, NULL) < 0)
		return;
	if (lease_wait_free(&existing.ws, limit_deadline(LIMIT_VMM_END_MS), NULL) == 0 &&
	    workspace_state(&existing.ws, &state, &event, NULL) == 0)
		snprintf(out, ENDING_TEXT, ": it is %s: %s", state_names[state],
			 json_text(event, "detail", "the reason is not known"));
	open_workspace_close(&existing);
}

/* --- noted ----------------------------------------------------------------------------------- */

static json_t *noted_words(const struct microagent_exec *command, bool *whole)
{
	json_auto_t *words = json_array();
	size_t room = NOTED_BYTES, i;

	for (i = 0; i < NOTED_WORDS && command->command[i]; i++) {
		size_t len = strlen(command->command[i]);

		if (len > room)
			break;
		room -= len;
		json_array_append_new(words, json_string_lossy(command->command[i], len));
	}
	*whole = !command->command[i];
	return json_incref(words);
}

/* Writes a line about the command to the child's audit log. `result` is NULL if the command did not
 * end. `why` is the text of the failure, or NULL if there was none. */
static int note(const struct microagent_session *child, const char *parent,
		const struct microagent_exec *command, const struct microagent_result *result,
		const char *why, struct error *err)
{
	struct open_workspace existing = {0};
	json_auto_t *more = json_object();
	bool whole = true;
	int status;

	if (json_put(more, "argv", noted_words(command, &whole), err) < 0 ||
	    (!whole && json_put(more, "truncated", json_true(), err) < 0) ||
	    (command->user &&
	     json_put(more, "user", json_string_lossy(command->user, strlen(command->user)), err) <
		     0) ||
	    (result && json_put(more, "exitCode", json_integer(result->exit_code), err) < 0) ||
	    (why && json_put(more, "error", json_string_lossy(why, strlen(why)), err) < 0) ||
	    open_workspace_named(child->agent, child->id, &existing, err) < 0)
		return -1;
	status = point_note(&existing.ws, "on-fork", parent, more, err);
	open_workspace_close(&existing);
	return status;
}

int on_fork_run(struct microagent_session *child, const char *parent,
		const struct microagent_exec *command, int cancel, struct error *err)
{
	struct microagent_exec exec = *command;
	const struct microagent_cancel thrown = {.fd = cancel};
	const struct microagent_run_limits limits = {
		.timeout_ms = (uint32_t)(seconds_of(command) * 1000),
		.stdout_cap = KEPT_BYTES,
		.stderr_cap = KEPT_BYTES,
		.cancel = cancel > 0 ? &thrown : NULL,
	};
	struct microagent_result result = {0};
	struct error why = {0};
	bool ended;
	int status;

	exec.timeout_seconds = 0; /* the guest gets no time limit, because it could ignore the
				   * limit: only the host measures the time */
	ended = microagent_session_run(child, &exec, &limits, &result, &why) == 0;
	if (!ended && why.reason == REASON_SESSION_LOST) {
		char how[ENDING_TEXT];

		describe_end(child, how);
		error_set(&why, ERR_IO,
			  "the fork's machine ended, or was lost, while the fork's command ran%s",
			  how);
	}
	status = ended ? judge(command, &result, &why) : -1;
	if (note(child, parent, command, ended ? &result : NULL, status < 0 ? why.msg : NULL,
		 status < 0 ? NULL : &why) < 0)
		status = -1;
	microagent_result_free(&result);
	if (status == 0)
		return 0;
	error_copy(err, &why);
	return error_prefix(err, "%s, a fork of session %s", child->name, parent);
}
