/* SPDX-License-Identifier: MIT */
/*
 * Destroys a session. The process that destroys a session may be killed at any step, so it first
 * makes a mark. The mark is the file <id>.end beside the marks of unfinished sessions. The mark has
 * a lock, which the kernel releases when the process exits. If a mark has no lock, the next sweep
 * finishes the destruction of that session. The next command that destroys the session does so too.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "session/sessions/session.h"
#include "session/sessions/tokens.h"

/* --- the mark --------------------------------------------------------------------------------- */

#define ENDING ".end"

bool session_ending_id(const char *mark, char id[SESSION_ID_ROOM])
{
	size_t len = strlen(mark), suffix = strlen(ENDING);

	if (len <= suffix || len - suffix >= SESSION_ID_ROOM ||
	    strcmp(mark + len - suffix, ENDING) != 0)
		return false;
	snprintf(id, SESSION_ID_ROOM, "%.*s", (int)(len - suffix), mark);
	return true;
}

void session_ending_mark(const char *name, char out[SESSION_MARK_ROOM])
{
	snprintf(out, SESSION_MARK_ROOM, "%s" BUNDLE_SUFFIX ENDING, name);
}

/* --- removed ---------------------------------------------------------------------------------- */

/* Checks that the session is gone. Returns 0 if all its files are gone, 1 if its directory is in
 * the trash and another process is still removing the files, or -1 with err set. */
static int verify_gone(const struct microagent_session *session, struct error *err)
{
	struct state_dir dir;
	struct workspace ws;
	bool is, rest;

	if (state_dir_open(session->agent->state_path, false, &dir, err) < 0)
		return -1;
	if (workspace_open(&dir, session->id, false, &ws, err) < 0) {
		state_dir_close(&dir);
		return -1;
	}
	is = ws.fd >= 0;
	rest = trash_has(&dir, session->id);
	workspace_close(&ws);
	state_dir_close(&dir);
	if (!is)
		return rest ? 1 : 0;
	return error_set(
		err, ERR_IO,
		"session %s is still there after it was removed: another program may have made its directory again; try again",
		session->name);
}

#define REMOVE_ATTEMPTS 4

/* Removes the session. A refused removal is tried again: a start of the session, requested by a
 * process that has died, may begin between the end of the machine and the removal. A session in
 * quarantine is kept, unless the caller is microagent_session_destroy_named(). */
static int remove_now(struct microagent_session *session, struct error *err)
{
	struct error why = {0};

	for (int i = 0; i < REMOVE_ATTEMPTS; i++) {
		struct error ended = {0};

		/* Most errors of the kill are ignored, because a session without records cannot be
		 * killed, but can be deleted. */
		(void)microagent_kill(session->agent, session->id, NULL, &ended);
		if (ended.reason == REASON_SESSION_QUARANTINED)
			return error_copy(err, &ended);
		if (microagent_delete(session->agent, session->id, NULL, &why) == 0)
			return verify_gone(session, err);
		if (ended.code && ended.code != ERR_NOT_FOUND)
			why = ended;
		if (why.code != ERR_CONFLICT)
			break;
	}
	return error_copy(err, &why);
}

static void forget_token(const struct microagent_session *session, const char *state,
			 const char *base)
{
	auto_pool struct pool pool = POOL_NONE;

	if (pool_open(state, base, &pool, NULL) < 0)
		return;
	pool_forget(&pool, session->name);
	pool_tidy(&pool);
}

/* Removes all tokens of the session. The tokens are in the pool of the session's base. If the
 * record is missing, the base is unknown, and all pools are searched. */
static void forget_tokens(const struct microagent_session *session)
{
	const char *of = json_text(session->record, "base", NULL);
	autofree char *state = state_of_sessions(session->agent, NULL);
	json_auto_t *bases = state && !of ? pool_bases(state, NULL) : NULL;
	const json_t *base;
	size_t i;

	if (state && of)
		forget_token(session, state, of);
	json_array_foreach(bases, i, base)
	{
		forget_token(session, state, json_string_value(base));
	}
}

int session_end_marked(struct microagent_session *session, struct error *err)
{
	int status = remove_now(session, err);

	if (status >= 0)
		forget_tokens(session);
	return status;
}

/* --- marked ----------------------------------------------------------------------------------- */

/* Destroys the session, and marks it meanwhile. Returns 0, 1 if another process is destroying the
 * session, or -1 with err set. */
static int end_in(const struct state_dir *dir, struct microagent_session *session,
		  struct error *err)
{
	char name[SESSION_MARK_ROOM];
	struct error why = {0};
	autoclose int mark = -1;
	int status;

	session_ending_mark(session->name, name);
	mark = unfinished_mark(dir, name, &why);
	if (mark < 0 && why.code == ERR_CONFLICT)
		return 1;
	/* If the disk has no space for a mark, the session is destroyed without a mark. */
	status = session_end_marked(session, err);
	/* A session with a mark counts as half destroyed, so it is an error if the mark cannot be
	 * removed. */
	if (mark >= 0 && unfinished_unmark(dir, name, status < 0 ? NULL : err) < 0)
		return -1;
	return status;
}

static int end_session(struct microagent_session *session, struct error *err)
{
	struct state_dir dir;
	struct error why = {0};
	int status;

	if (state_dir_open(session->agent->state_path, false, &dir, &why) < 0) {
		if (why.code != ERR_NOT_FOUND)
			return error_copy(err, &why);
		/* A user may have removed the directory of all sessions manually. */
		forget_tokens(session);
		return 0;
	}
	status = end_in(&dir, session, err);
	state_dir_close(&dir);
	return status;
}

/* Moves the session's token to ending/, so that nobody can claim the session while it is destroyed.
 * Fails if another process has just claimed the session, because that process will use it. */
static int end_token(const struct microagent_session *session, struct error *err)
{
	const char *base = json_text(session->record, "base", NULL);
	autofree char *state = state_of_sessions(session->agent, NULL);
	auto_pool struct pool pool = POOL_NONE;

	if (!base || !state || pool_open(state, base, &pool, NULL) < 0 ||
	    !pool_has(&pool, POOL_READY, session->name) ||
	    pool_end(&pool, session->name, NULL) != 0 ||
	    !pool_has(&pool, POOL_CLAIMED, session->name))
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"session %s has been claimed from its pool by another command, which uses it now: destroy the session when that command has ended",
		session->name);
}

int session_remove(struct microagent_session *session, struct error *err)
{
	return end_session(session, err);
}

int microagent_session_destroy(struct microagent_session *session, struct error *err)
{
	int status;

	pthread_mutex_lock(&session->life);
	status = end_token(session, err);
	if (status == 0)
		status = end_session(session, err);
	pthread_mutex_unlock(&session->life);
	if (status <= 0)
		return status;
	return error_set(
		err, ERR_CONFLICT,
		"session %s is being destroyed by another command: wait until that command has ended",
		session->name);
}

/* --- destroying a session by its name --------------------------------------------------------- */

/* Returns true if an earlier call began to destroy the session, did not finish, and has removed the
 * session's directory. */
static bool broke_off(const struct microagent_session *session)
{
	char mark[SESSION_MARK_ROOM], path[sizeof(mark) + 24];
	struct state_dir dir;
	bool found;

	if (state_dir_open(session->agent->state_path, false, &dir, NULL) < 0)
		return false;
	session_ending_mark(session->name, mark);
	snprintf(path, sizeof(path), ".locks/.making/%s", mark);
	found = trash_has(&dir, session->id) ||
		faccessat(dir.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	state_dir_close(&dir);
	return found;
}

int microagent_session_destroy_named(struct microagent *agent, const char *word, struct error *err)
{
	auto_session struct microagent_session *session = NULL;
	char name[SESSION_NAME_ROOM];
	struct error why = {0};

	if (session_name_parse(word, name, err) < 0)
		return -1;
	session = session_handle(agent, name, err);
	if (!session)
		return -1;
	/* A session with a damaged record (ERR_IO) is destroyed too. */
	if (session_read_record(session, &why) < 0 && why.code != ERR_IO &&
	    (why.code != ERR_NOT_FOUND || !broke_off(session)))
		return error_copy(err, &why);
	session->agent->keep_quarantined = false;
	return microagent_session_destroy(session, err);
}
