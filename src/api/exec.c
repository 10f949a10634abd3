/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"

/* Of a session, which commands take without what its directory has behind it. */
static int name_length(const struct workspace *ws)
{
	return (int)strcspn(ws->id, ".");
}

/* What people call it: sessions have commands of their own, which those of workspaces do not
 * replace. */
static bool is_session(const struct workspace *ws)
{
	size_t len = strlen(ws->id), suffix = strlen(".bundle");

	return strncmp(ws->id, "session-", 8) == 0 && len > suffix &&
	       strcmp(ws->id + len - suffix, ".bundle") == 0;
}

static int session_must_run(const struct workspace *ws, const char *is, struct error *err)
{
	return error_set(err, ERR_CONFLICT,
			 "session %.*s is %s: `microagent session destroy %.*s` removes it, and "
			 "`session create` makes another; `microagent --state-dir %s start %s` "
			 "boots this one again",
			 name_length(ws), ws->id, is, name_length(ws), ws->id, ws->dir->path,
			 ws->id);
}

static int refuse_quarantined(const struct workspace *ws, struct error *err)
{
	if (is_session(ws))
		return error_set(err, ERR_CONFLICT,
				 "session %.*s is quarantined and nothing reaches it: `microagent "
				 "session destroy %.*s` ends it",
				 name_length(ws), ws->id, name_length(ws), ws->id);
	return error_set(err, ERR_CONFLICT,
			 "workspace \"%s\" is quarantined and nothing reaches it: `microagent "
			 "halt %s` (or stop, or kill) ends that",
			 ws->id, ws->id);
}

int exec_must_run(const struct workspace *ws, struct error *err)
{
	enum state state;
	json_auto_t *event = NULL;

	if (workspace_state(ws, &state, &event, err) < 0)
		return -1;
	if (state == STATE_QUARANTINED)
		return refuse_quarantined(ws, err);
	if (state == STATE_RUNNING && lease_is_held(ws))
		return 0;
	if (is_session(ws))
		return session_must_run(ws,
					state == STATE_RUNNING ? "failed, its machine has ended"
							       : state_names[state],
					err);
	if (state != STATE_RUNNING)
		return error_set(err, ERR_CONFLICT,
				 "workspace \"%s\" is %s, not running: `microagent start %s` first",
				 ws->id, state_names[state], ws->id);
	return error_set(err, ERR_CONFLICT,
			 "the machine of workspace \"%s\" has ended: `microagent status %s` "
			 "says how, `microagent start %s` boots it again",
			 ws->id, ws->id, ws->id);
}

/* Why the machine does not run on although it is up, which its event says; "" when it does. */
static void why_paused(const struct workspace *ws, char *out, size_t size)
{
	json_auto_t *event = NULL;
	enum state state;
	const char *detail;

	out[0] = '\0';
	if (workspace_state(ws, &state, &event, NULL) < 0)
		return;
	detail = json_text(event, "detail", NULL);
	if (detail && strncmp(detail, PAUSED, strlen(PAUSED)) == 0)
		snprintf(out, size, "%s", detail);
}

static bool is_silence(const struct error *why)
{
	return why->code == ERR_UNAVAILABLE || why->code == ERR_NOT_FOUND ||
	       why->code == ERR_TIMEOUT;
}

int exec_explain_paused(const struct workspace *ws, struct error *err)
{
	char paused[160];

	if (!err || !is_silence(err))
		return -1;
	why_paused(ws, paused, sizeof(paused));
	if (strncmp(paused, PAUSED_AT_QUOTA, strlen(PAUSED_AT_QUOTA)) == 0)
		return error_set(err, ERR_UNAVAILABLE,
				 "session %.*s is %s: `microagent session quota %.*s MIB` raises "
				 "it, and the session goes on",
				 name_length(ws), ws->id, paused, name_length(ws), ws->id);
	if (*paused && is_session(ws))
		return error_set(err, ERR_UNAVAILABLE,
				 "session %.*s is %s; it goes on when there is room again",
				 name_length(ws), ws->id, paused);
	if (*paused)
		return error_set(err, ERR_UNAVAILABLE,
				 "workspace \"%s\" is %s; it goes on when there is room again",
				 ws->id, paused);
	return 0;
}

int exec_explain_lost(const struct workspace *ws, struct error *err)
{
	const struct error why = err ? *err : (struct error){0};

	if (exec_explain_paused(ws, err) < 0)
		return -1;
	if (why.code == ERR_TIMEOUT)
		return error_prefix(err, "workspace \"%s\"", ws->id);
	if (is_session(ws))
		return error_set(
			err, why.code,
			"session %.*s: %s: `microagent session list` says what became of it",
			name_length(ws), ws->id, why.msg);
	return error_set(err, why.code,
			 "workspace \"%s\": %s: `microagent status %s` says what became of it",
			 ws->id, why.msg, ws->id);
}

static void terminal_size(void *data, struct agent_size *out)
{
	const struct microagent_terminal *terminal = data;

	terminal->size(terminal->data, &out->rows, &out->columns);
}

static int run_stream(const struct workspace *ws, struct agent_stream *stream,
		      const struct microagent_streams *streams, const struct pump_terminal *near,
		      const struct microagent_terminal *terminal,
		      struct microagent_outcome *outcome, struct error *err)
{
	autoclose int agent = stream_dial(ws, err);

	if (agent < 0)
		return exec_explain_lost(ws, err);
	if (terminal && terminal->connected)
		terminal->connected(terminal->connected_data);
	if (stream_run_on(ws, agent, stream, streams, near, false, outcome, err) < 0)
		return exec_explain_lost(ws, err);
	return 0;
}

static int exec_in(const struct workspace *ws, const struct microagent_exec *exec,
		   const struct microagent_streams *streams, struct microagent_outcome *outcome,
		   struct error *err)
{
	struct microagent_terminal terminal =
		exec->terminal ? *exec->terminal : (struct microagent_terminal){0};
	const struct pump_terminal near = {terminal.resized, terminal_size, &terminal,
					   terminal.escape};
	struct agent_size size = {0};
	const struct agent_exec request = {
		.command = exec->command,
		.env = exec->env,
		.cwd = exec->cwd,
		.user = exec->user,
		.timeout_seconds = exec->timeout_seconds,
		.resume_seconds = exec->resume_seconds,
		.rlimits = exec->rlimits,
		.stdin_open = streams->in >= 0,
		.terminal = exec->terminal ? &size : NULL,
	};
	struct agent_stream stream = {0};
	int result = -1;

	if (exec->terminal)
		terminal_size(&terminal, &size);
	if (exec_must_run(ws, err) == 0 && agent_stream_exec(&stream, &request, err) == 0)
		result = run_stream(ws, &stream, streams, exec->terminal ? &near : NULL,
				    exec->terminal, outcome, err);
	agent_stream_free(&stream);
	return result;
}

int microagent_exec(struct microagent *agent, const char *name, const struct microagent_exec *exec,
		    const struct microagent_streams *streams, struct microagent_outcome *outcome,
		    struct error *err)
{
	struct existing existing = {0};
	int result;

	if (existing_open(agent, name, &existing, err) < 0)
		return -1;
	result = exec_in(&existing.ws, exec, streams, outcome, err);
	existing_close(&existing);
	return result;
}
