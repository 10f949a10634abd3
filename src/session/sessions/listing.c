/* SPDX-License-Identifier: MIT */
/* Describes sessions for users: one session by its handle, or all sessions in the state
 * directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "session/sessions/session.h"
#include "session/sessions/tokens.h"

static const char *const record_keys[] = {"base",   "source",	"clone",       "createdAt",
					  "shares", "endsAt",	"idleSeconds", "lifetimeSeconds",
					  "guest",  "template", "cold",	       "parent"};

static int put_session_record(json_t *out, const json_t *record, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(record_keys); i++) {
		json_t *value = json_object_get(record, record_keys[i]);

		if (value && json_put(out, record_keys[i], json_incref(value), err) < 0)
			return -1;
	}
	return 0;
}

static int put_timing(json_t *timings, const char *key, double ms, struct error *err)
{
	return ms > 0 ? json_put(timings, key, json_real(ms), err) : 0;
}

/* Adds to `out` whether the session's machine booted or was restored. Adds nothing for a session
 * that has not run yet. */
static int put_boot(const struct microagent_session *session, json_t *out, struct error *err)
{
	struct open_workspace existing = {0};
	int status;

	if (open_workspace_named(session->agent, session->id, &existing, NULL) < 0)
		return 0;
	status = session_boot_told(&existing.ws, out, err);
	open_workspace_close(&existing);
	return status;
}

json_t *microagent_session_describe(const struct microagent_session *session, struct error *err)
{
	autofree char *path = path_join(session->agent->state_path, session->id, err);
	json_auto_t *out = json_object();
	json_t *timings = json_object();
	int64_t quota = session->quota_bytes;
	char accelerator[8] = ""; /* name of the accelerator; "" for a session that has never run */

	microagent_accelerator(session->agent, session->id, accelerator, NULL);
	if (!path || json_put_string(out, "name", session->name, err) < 0 ||
	    (*accelerator && json_put_string(out, "accelerator", accelerator, err) < 0) ||
	    json_put_string(out, "path", path, err) < 0 ||
	    put_session_record(out, session->record, err) < 0 || put_boot(session, out, err) < 0 ||
	    (quota && json_put(out, "quotaBytes", json_integer((json_int_t)quota), err) < 0) ||
	    json_put(out, "timings", timings, err) < 0 ||
	    put_timing(timings, "cloneMs", session->clone_ms, err) < 0 ||
	    put_timing(timings, "bootMs", session->boot_ms, err) < 0 ||
	    put_timing(timings, "claimMs", session->claim_ms, err) < 0)
		return NULL;
	return steal_ptr(&out);
}

/* Returns true if the machine boots with its shared directories. Any other machine gets its
 * directories after it was started, so it may still lack directories that are in the session's
 * record. */
static bool boots_with_shares(const struct workspace *ws)
{
	json_auto_t *prepared = workspace_read(ws, "workspace.json", NULL);

	return json_object_get(json_object_get(prepared, "config"), "shares") != NULL;
}

/* Adds facts from runtime.json about a running machine to `entry`: whether it booted or was
 * restored, and the shares that it was given after its start. */
static int add_run(const struct workspace *ws, json_t *entry, struct error *err)
{
	const char *state = json_text(entry, "state", NULL);
	json_auto_t *runtime = NULL;
	struct error ignored;

	if (state && strcmp(state, "quarantined") == 0)
		json_object_del(entry, "shares");
	if (!state || strcmp(state, "running") != 0)
		return 0;
	if (session_boot_told(ws, entry, err) < 0)
		return -1;
	runtime = workspace_read(ws, "runtime.json", &ignored);
	session_shares_of_before(runtime);
	const json_t *shares = json_object_get(runtime, "shares");
	if (json_is_array(shares))
		return json_put(entry, "shares", session_shares_told(shares), err);
	if (json_object_get(entry, "shares") && !boots_with_shares(ws))
		json_object_del(entry, "shares");
	return 0;
}

/* Returns true if the session belongs to a pool: it waits in the pool, is being made for the pool,
 * or is being destroyed as a member of the pool. */
static bool is_pooled(const char *state, const char *id, const json_t *record,
		      enum unfinished_state making)
{
	const char *source = json_text(record, "source", NULL);
	const char *base = json_text(record, "base", NULL);
	auto_pool struct pool pool = POOL_NONE;
	char name[SESSION_NAME_ROOM];

	return strcmp(source, SESSION_POOL) == 0 && session_name_of_id(id, name) &&
	       (making == UNFINISHED_UNDER_WAY ||
		(pool_open(state, base, &pool, NULL) == 0 &&
		 (pool_has(&pool, POOL_READY, name) || pool_has(&pool, POOL_ENDING, name))));
}

/* Records in entry that the session is being made, or that its making was interrupted. Removes an
 * error from `entry`, because it is no fault if an unfinished session lacks files. */
static int tell_making(enum unfinished_state making, json_t *entry, struct error *err)
{
	if (making == UNFINISHED_NOT)
		return 0;
	json_object_del(entry, "error");
	if (making == UNFINISHED_UNDER_WAY)
		return json_put_string(entry, "detail", "being made", err);
	if (json_put_string(entry, "detail", SESSION_UNFINISHED, err) < 0)
		return -1;
	return json_put_string(entry, "reason", error_reason_name(REASON_SESSION_UNFINISHED), err);
}

/* Records in entry that the session is being destroyed, or that its destruction was interrupted. */
static int tell_ending(const struct state_dir *dir, const char *name, json_t *entry,
		       struct error *err)
{
	char mark[SESSION_MARK_ROOM];
	enum unfinished_state ending;

	session_ending_mark(name, mark);
	ending = unfinished_marked(dir, mark);
	if (ending == UNFINISHED_NOT)
		return 0;
	if (json_put_string(entry, "detail",
			    ending == UNFINISHED_UNDER_WAY
				    ? "being destroyed"
				    : "half destroyed: the command that destroyed it was killed",
			    err) < 0)
		return -1;
	return ending == UNFINISHED_UNDER_WAY
		       ? 0
		       : json_put_string(entry, "reason", error_reason_name(REASON_SESSION_ENDING),
					 err);
}

/* Adds the session's record to entry. If the record is damaged, adds an error instead, in the form
 * in which a damaged workspace is listed. */
static int add_session_record(const char *state, const struct state_dir *dir, const char *id,
			      json_t *entry, struct error *err)
{
	json_auto_t *record = NULL;
	const enum unfinished_state making = unfinished_of(dir, id);
	struct error why = {0};
	struct workspace ws;

	if (workspace_open(dir, id, false, &ws, &why) == 0) {
		record = session_record_read(&ws, &why);
		if (record &&
		    (put_session_record(entry, record, err) < 0 || add_run(&ws, entry, err) < 0 ||
		     session_quota_told(&ws, record, entry, err) < 0 ||
		     session_term_told(dir, &ws, entry, err) < 0)) {
			workspace_close(&ws);
			return -1;
		}
		workspace_close(&ws);
	}
	if (tell_making(making, entry, err) < 0)
		return -1;
	if (record && is_pooled(state, id, record, making) &&
	    json_put(entry, "pooled", json_true(), err) < 0)
		return -1;
	if (record || making != UNFINISHED_NOT || json_object_get(entry, "error"))
		return 0;
	return json_put(entry, "error", json_string_lossy(why.msg, strlen(why.msg)), err);
}

/* Adds a session to list, with those members of the workspace's description that a session's
 * description has too. Skips a workspace that is not a session. */
static int add_session(const char *state, const struct state_dir *dir, const json_t *workspace,
		       json_t *list, struct error *err)
{
	static const char *const keys[] = {"state",    "observedAt",   "detail",
					   "backend",  "architecture", "memoryMiB",
					   "cpuCount", "error",	       "confinement"};
	const char *id = json_text(workspace, "name", NULL);
	json_auto_t *entry = json_object();
	char name[SESSION_NAME_ROOM];

	if (!id || !session_name_of_id(id, name))
		return 0;
	if (json_put_string(entry, "name", name, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(workspace, keys[i]);

		if (value && json_put(entry, keys[i], json_incref(value), err) < 0)
			return -1;
	}
	if (add_session_record(state, dir, id, entry, err) < 0 ||
	    tell_ending(dir, name, entry, err) < 0)
		return -1;
	return json_array_append(list, entry) == 0 ? 0 : error_errno(err, ENOMEM, "sessions");
}

/* Adds sessions that are being destroyed and whose directories have already been renamed. */
static int add_nameless(const struct state_dir *dir, json_t *list, struct error *err)
{
	int marks = openat(dir->fd, ".locks/.making", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = marks >= 0 ? fdopendir(marks) : NULL;
	const struct dirent *mark;

	if (marks >= 0 && !entries)
		close(marks);
	while (entries && (mark = readdir(entries))) {
		char id[SESSION_ID_ROOM], name[SESSION_NAME_ROOM];
		json_t *entry;

		if (!session_ending_id(mark->d_name, id) || !session_name_of_id(id, name) ||
		    faccessat(dir->fd, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		entry = json_pack("{s:s,s:s}", "name", name, "state", state_names[STATE_UNKNOWN]);
		if (!entry || tell_ending(dir, name, entry, err) < 0 ||
		    json_array_append_new(list, entry) < 0)
			return error_errno(err, ENOMEM, "sessions");
	}
	return 0;
}

static int list_sessions(const char *state, struct microagent *sessions, json_t *list,
			 struct error *err)
{
	json_auto_t *answer = microagent_list(sessions, err);
	struct error why = {0};
	const json_t *workspace;
	struct state_dir dir;
	int status = 0;
	size_t i;

	if (!answer)
		return -1;
	/* A user may have removed the directory of all sessions manually. */
	if (state_dir_open(sessions->state_path, false, &dir, &why) < 0)
		return why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	json_array_foreach(json_object_get(answer, "workspaces"), i, workspace)
	{
		if (status == 0)
			status = add_session(state, &dir, workspace, list, err);
	}
	if (status == 0)
		status = add_nameless(&dir, list, err);
	state_dir_close(&dir);
	return status;
}

json_t *microagent_session_list(struct microagent *agent, struct error *err)
{
	struct microagent *sessions = sessions_agent(agent, err);
	json_auto_t *list = json_array();
	int status = sessions ? list_sessions(agent->state_path, sessions, list, err) : -1;

	microagent_close(sessions);
	return status == 0 ? json_pack("{s:O}", "sessions", list) : NULL;
}
