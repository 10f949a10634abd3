/* SPDX-License-Identifier: MIT */
/* The tools that create, show, fork and destroy sessions. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "mcp/server.h"
#include "mcp/tools.h"

/* --- sessions in answers --------------------------------------------------------------------- */

/* Returns only those members of a session's entry that the client may see. None of them is a path
 * of this host. */
static json_t *told_session(const json_t *entry, const char *state, bool made, struct error *err)
{
	static const struct {
		const char *key, *name;
	} members[] = {{"accelerator", "accelerator"}, {"source", "source"},
		       {"memoryMiB", "memoryMiB"},     {"cpus", "cpuCount"},
		       {"createdAt", "createdAt"},     {"detail", "detail"}};
	const char *how = json_text(json_object_get(entry, "boot"), "how", NULL);
	json_auto_t *told = json_object();

	if (json_put_string(told, "session", json_text(entry, "name", ""), err) < 0 ||
	    json_put_string(told, "base", json_text(entry, "base", ""), err) < 0 ||
	    json_put_string(told, "state", json_text(entry, "state", state), err) < 0 ||
	    json_put(told, "made", json_boolean(made), err) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		json_t *value = json_object_get(entry, members[i].name);

		if (value && json_put(told, members[i].key, json_incref(value), err) < 0)
			return NULL;
	}
	if (how && json_put(told, "restored", json_boolean(strcmp(how, "restored") == 0), err) < 0)
		return NULL;
	return steal_ptr(&told);
}

static int say_session(struct mcp_answer *answer, const json_t *told, struct error *err)
{
	return answer_say(answer, err, "%s: %s, of base %s%s\n", json_text(told, "session", ""),
			  json_text(told, "state", ""), json_text(told, "base", ""),
			  strcmp(json_text(told, "accelerator", ""), "tcg") == 0
				  ? "; emulated, which is slow and no security boundary"
				  : "");
}

/* --- session_create -------------------------------------------------------------------------- */

static int answer_session(struct mcp_call *call, struct mcp_answer *answer,
			  const struct microagent_session *session, struct error *err)
{
	json_auto_t *described = microagent_session_describe(session, err);
	json_t *told = described ? told_session(described, "running", true, err) : NULL;

	if (!told || answer_structured(answer, told, err) < 0)
		return -1;
	if (json_put_string(told, "network", call_network(call), err) < 0)
		return -1;
	return say_session(answer, told, err);
}

/* Returns true if the call is cancelled. The client then does not learn of the new session, so
 * nobody could destroy the session. */
static bool is_cancelled(const struct mcp_call *call)
{
	struct error ignored;

	return fd_wait(microagent_cancel_fd(call->cancel), POLLIN, 0, &ignored) == 0;
}

int tool_session_create(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	const struct mcp_options *options = call->server->options;
	const char *base = call_text(call, "base"), *network = call_network(call);
	struct mcp_sessions *sessions = &call->server->sessions;
	struct microagent_session_spec spec;
	struct microagent_session *session;
	struct microagent *agent;
	int status;

	if (machines_reserve(sessions, &call->room, 1, err) < 0)
		return -1;
	spec = (struct microagent_session_spec){
		.machine.network = network,
		.machine.allow = call_allow(call, network),
		.machine.egress = call_egress(call, network),
		.machine.memory_mib = call_number(call, "memoryMiB", 0),
		.machine.cpus = call_number(call, "cpus", 0),
		.base = base ? base : options->bases[0],
		.owned = !options->keep,
		.cancel = microagent_cancel_fd(call->cancel),
	};
	agent = mcp_open_agent(options, err);
	/* The boot is reported here. microagent_on_wait() is not used, since its callback would
	 * stay with the session. */
	call_tell(call, true, "booting");
	status = agent ? microagent_session_create(agent, &spec, &session, err) : -1;
	if (status == 0)
		call_tell(call, true, "the guest is ready");
	microagent_close(agent);
	if (status < 0) {
		machines_release(sessions, &call->room, 1);
		return -1;
	}
	status = answer_session(call, answer, session, err);
	if (status == 0 && is_cancelled(call))
		status = error_set(err, ERR_UNAVAILABLE, "cancelled");
	if (status == 0)
		return mcp_session_enter(sessions, &call->room, session, err);
	(void)microagent_session_destroy(session, NULL);
	microagent_session_close(session);
	machines_release(sessions, &call->room, 1);
	return -1;
}

/* --- session_list, session_status ------------------------------------------------------------ */

/* Returns the sessions that calls may use. If `name` is not NULL, returns only the session with
 * this name. */
static json_t *known_sessions(const struct mcp_call *call, const char *name, struct error *err)
{
	struct microagent *agent = mcp_open_agent(call->server->options, err);
	json_auto_t *all = agent ? microagent_session_list(agent, err) : NULL;
	json_auto_t *known = json_array();
	const json_t *entry;
	size_t i;

	microagent_close(agent);
	json_array_foreach(json_object_get(all, "sessions"), i, entry)
	{
		const char *own = json_text(entry, "name", "");
		json_t *told;
		bool made;

		if ((name && strcmp(name, own) != 0) ||
		    !mcp_session_is_known(&call->server->sessions, own, &made))
			continue;
		told = told_session(entry, "unknown", made, err);
		if (!told || json_array_append_new(known, told) < 0)
			return NULL;
	}
	return all ? steal_ptr(&known) : NULL;
}

int tool_session_list(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	json_t *known = known_sessions(call, NULL, err);
	const json_t *told;
	size_t i;

	if (!known || answer_structured(answer, json_pack("{s:o}", "sessions", known), err) < 0)
		return -1;
	json_array_foreach(known, i, told)
	{
		if (say_session(answer, told, err) < 0)
			return -1;
	}
	return json_array_size(known) ? 0 : answer_say(answer, err, "There is no session.\n");
}

int tool_session_status(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	struct mcp_session *session = call_session(call, err);
	json_auto_t *known = session ? known_sessions(call, call_text(call, "session"), err) : NULL;
	json_t *told = json_array_get(known, 0);

	if (session)
		mcp_session_give(&call->server->sessions, session);
	if (!known)
		return -1;
	if (!told)
		return error_set(
			err, ERR_NOT_FOUND,
			"session %s was destroyed and does not exist any more: create another with session_create",
			call_text(call, "session"));
	return answer_structured(answer, json_incref(told), err) < 0
		       ? -1
		       : say_session(answer, told, err);
}

/* --- session_fork ---------------------------------------------------------------------------- */

static int fork_session(struct mcp_call *call, struct mcp_session *session,
			const char *const *on_fork, struct mcp_answer *answer, struct error *err)
{
	struct mcp_sessions *sessions = &call->server->sessions;
	const int64_t count = call_number(call, "count", 1);
	const struct microagent_exec command = {
		.command = on_fork,
		.user = call_text(call, "user"),
		.timeout_seconds = call_number(call, "timeoutSeconds", 0),
	};
	const struct microagent_fork_spec spec = {.count = count,
						  .cancel = microagent_cancel_fd(call->cancel),
						  .owned = !call->server->options->keep,
						  .on_fork = on_fork ? &command : NULL};
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the array holds pointers */
	autofree struct microagent_session **children = calloc((size_t)count, sizeof(*children));
	json_auto_t *told = NULL, *names = json_array();
	const json_t *name;
	int status = 0;
	size_t i;

	if (!children)
		return error_errno(err, ENOMEM, "fork");
	if (machines_reserve(sessions, &call->room, count, err) < 0)
		return -1;
	if (microagent_session_fork(session->handle, &spec, children, &told, err) < 0) {
		machines_release(sessions, &call->room, count);
		return -1;
	}
	if (is_cancelled(call)) {
		/* The client does not know the children of the fork, so they are destroyed. */
		for (int64_t child = 0; child < count; child++) {
			(void)microagent_session_destroy(children[child], NULL);
			microagent_session_close(children[child]);
		}
		machines_release(sessions, &call->room, count);
		return error_set(err, ERR_UNAVAILABLE, "cancelled");
	}
	/* If mcp_session_enter() fails, it destroys the child. */
	for (int64_t child = 0; child < count; child++) {
		json_array_append_new(names, json_string(microagent_session_name(children[child])));
		if (mcp_session_enter(sessions, &call->room, children[child], err) < 0)
			status = -1;
	}
	if (status < 0 || answer_structured(answer,
					    json_pack("{s:O, s:O}", "sessions", names, "pauseMs",
						      json_object_get(told, "pauseMs")),
					    err) < 0)
		return -1;
	json_array_foreach(names, i, name)
	{
		if (answer_say(answer, err, "%s is a fork and goes on from there\n",
			       json_string_value(name)) < 0)
			return -1;
	}
	return 0;
}

int tool_session_fork(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	bool has_command = json_object_get(call->arguments, "onFork") != NULL;
	autofree const char **words = has_command ? call_words(call, "onFork", err) : NULL;
	struct mcp_session *session;
	int status;

	if (has_command && !words)
		return -1;
	if (!has_command &&
	    (call_text(call, "user") || json_object_get(call->arguments, "timeoutSeconds")))
		return error_set(
			err, ERR_INVALID,
			"user and timeoutSeconds are for the command in onFork: give onFork, or leave them out");
	session = call_session(call, err);
	if (!session)
		return -1;
	status = fork_session(call, session, words, answer, err);
	mcp_session_give(&call->server->sessions, session);
	return status;
}

/* --- session_destroy ------------------------------------------------------------------------- */

static int answer_destroyed(struct mcp_answer *answer, const char *name, struct error *err)
{
	if (answer_structured(answer, json_pack("{s:s, s:b}", "session", name, "destroyed", 1),
			      err) < 0)
		return -1;
	return answer_say(answer, err, "%s is destroyed\n", name);
}

int tool_session_destroy(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	struct mcp_sessions *sessions = &call->server->sessions;
	const char *name = call_text(call, "session");
	struct mcp_session *session;
	int status;

	if (mcp_session_is_past(sessions, name))
		return answer_destroyed(answer, name, err);
	session = call_session(call, err);
	if (!session)
		return -1;
	status = microagent_session_destroy(session->handle, err);
	if (status == 0) {
		mcp_session_leave(sessions, session);
		kept_drop(&call->server->kept, name);
		status = answer_destroyed(answer, name, err);
	}
	mcp_session_give(sessions, session);
	return status;
}
