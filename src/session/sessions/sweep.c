/* SPDX-License-Identifier: MIT */
/* Sweeps the sessions. This is done each time before a session is made. The sweep removes sessions
 * whose making or destruction was interrupted, and sessions whose lifetime or idle time is over. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "session/sessions/orphan.h"
#include "session/sessions/session.h"
#include "session/sessions/tokens.h"

#define UNFINISHED_BROKE_OFF "its creation was interrupted"
#define ENDING_BROKE_OFF "its destruction was interrupted"

struct sweep {
	const struct microagent *agent;
	json_t *removed, *left; /* lists for the caller: removed sessions, and sessions that could
				 * not be removed; NULL: the caller does not want the list */
};

static void note_swept(json_t *list, const char *name, const char *why)
{
	if (list)
		json_array_append_new(list, json_pack("{s:s,s:o}", "name", name, "why",
						      json_string_lossy(why, strlen(why))));
}

/* Returns true if an earlier sweep has reported the mark. Otherwise notes that it is reported now,
 * by making the mark's file non-empty. So a session that cannot be removed is reported only by the
 * first sweep that finds it. */
static bool mark_is_told(const struct state_dir *dir, const char *mark)
{
	autofree char *path = NULL;
	autoclose int fd = -1;
	struct stat st;

	if (asprintf(&path, ".locks/.making/%s", mark) < 0) {
		path = NULL;
		return false;
	}
	fd = openat(dir->fd, path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	return st.st_size > 0 || write(fd, "!", 1) < 0;
}

/* Finds out whether the session is a waiting member of a pool. This happens if a filler died just
 * after it had added the session, or if a process died before it had claimed the session. Returns 1
 * if the session waits in a pool, 0 if not, or -1 with err set if this is unknown. */
static int is_ready(const struct microagent *agent, const char *name, struct error *err)
{
	json_auto_t *bases = pool_bases(agent->state_path, err);
	const json_t *base;
	size_t i;

	json_array_foreach(bases, i, base)
	{
		auto_pool struct pool pool = POOL_NONE;
		struct error why = {0};

		if (pool_open(agent->state_path, json_string_value(base), &pool, &why) < 0) {
			if (why.code != ERR_NOT_FOUND)
				return error_copy(err, &why);
		} else if (pool_has(&pool, POOL_READY, name)) {
			return 1;
		}
	}
	return bases ? 0 : -1;
}

/* Returns 1 if the bundle has the file, 0 if not, or -1 with err set if this is unknown. After -1,
 * the caller must leave the bundle unchanged. */
static int bundle_has(const struct state_dir *dir, const char *id, const char *file,
		      struct error *err)
{
	autoclose int fd = openat(dir->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstatat(fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	/* microagent makes only directories as bundles. So a link or a file with the name of a
	 * bundle was not made by microagent. */
	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return 0;
	return error_errno(err, errno, "%s/%s/%s", dir->path, id, file);
}

/* --- sessions whose making was interrupted ---------------------------------------------------- */

/* Removes a session without a record, which consists of a directory and perhaps a disk. Does not
 * remove a file with the session's name that microagent has not made. */
static int remove_bare(const struct sweep *sweep, const struct state_dir *dir, const char *id,
		       const char *name, struct error *err)
{
	int was = bundle_has(dir, id, ".", err), is;

	if (was < 0)
		return -1;
	if (unfinished_remove(dir, id) < 0)
		return error_set(
			err, ERR_IO,
			"the session was not completely made, and its files cannot be removed: look at the rights of its directory");
	is = bundle_has(dir, id, ".", NULL) != 0;
	if (was)
		orphan_tell(sweep->agent, name, ORPHAN_HALF_MADE, is ? ORPHAN_LEFT : ORPHAN_REMOVED,
			    is ? "the file with its name was not made by microagent"
			       : UNFINISHED_BROKE_OFF);
	if (was && !is)
		note_swept(sweep->removed, name, UNFINISHED_BROKE_OFF);
	return 0;
}

static void adopt(const struct sweep *sweep, const struct state_dir *dir, const char *id,
		  const char *name, const char *why)
{
	struct workspace ws;

	if (workspace_open(dir, id, false, &ws, NULL) == 0) {
		if (ws.fd >= 0)
			unfinished_disown(&ws);
		workspace_close(&ws);
	}
	orphan_tell(sweep->agent, name, ORPHAN_HALF_MADE, ORPHAN_ADOPTED, why);
}

static int keep_ready(const struct sweep *sweep, const struct state_dir *dir, const char *id,
		      const char *name, struct error *err)
{
	int mark = bundle_has(dir, id, WORKSPACE_MAKING, err);

	if (mark <= 0)
		return mark;
	adopt(sweep, dir, id, name,
	      "the command that put it into the pool, or claimed it, was killed: it is in the pool");
	return 0;
}

/* Removes a session if the process that made it has died. A directory with a record is removed only
 * if it also contains the mark WORKSPACE_MAKING. If the directory lacks this mark, a process that
 * failed to make or to claim a session with this name has left the caller's mark, and the session
 * belongs to another process. Returns 1 if another process is destroying the session. In this case
 * the caller keeps the mark, because that process may fail. */
static int remove_made(const struct sweep *sweep, const struct state_dir *dir, const char *id,
		       const char *name, struct error *err)
{
	auto_session struct microagent_session *session = NULL;
	struct error why = {0};
	int record = bundle_has(dir, id, SESSION_RECORD, err);
	int manifest = record < 0 ? -1 : bundle_has(dir, id, "workspace.json", err);
	int mark = manifest < 0 ? -1 : bundle_has(dir, id, WORKSPACE_MAKING, err);
	int status;

	if (mark < 0)
		return -1;
	if (!record && !manifest)
		return remove_bare(sweep, dir, id, name, err);
	if (!mark)
		return 0;
	session = session_handle(sweep->agent, name, err);
	if (!session)
		return -1;
	/* The record is read because it is needed to find the session's tokens. */
	(void)session_read_record(session, NULL);
	status = mark_is_told(dir, id) ? session_remove(session, &why)
				       : orphan_remove(sweep->agent, session, ORPHAN_HALF_MADE,
						       UNFINISHED_BROKE_OFF, &why);
	if (status == 0)
		note_swept(sweep->removed, name, UNFINISHED_BROKE_OFF);
	if (status < 0 && why.reason == REASON_SESSION_QUARANTINED) {
		adopt(sweep, dir, id, name,
		      "the command that made it was killed, and it is quarantined: it stays as it is");
		return 0;
	}
	return status < 0 ? error_copy(err, &why) : status;
}

/* --- sessions that are being destroyed -------------------------------------------------------- */

/* Finishes the destruction of a session whose mark this process has locked. */
static int end_marked(const struct sweep *sweep, const struct state_dir *dir, const char *mark,
		      const char *name, struct error *err)
{
	auto_session struct microagent_session *session = session_handle(sweep->agent, name, err);
	struct error why = {0};
	int status;
	bool told;

	if (!session)
		return -1;
	(void)session_read_record(session, NULL);
	told = mark_is_told(dir, mark);
	if (!told)
		orphan_tell(sweep->agent, name, ORPHAN_HALF_DESTROYED, ORPHAN_REMOVED,
			    ENDING_BROKE_OFF);
	status = session_end_marked(session, &why);
	if (status > 0)
		return status;
	if (status < 0) {
		if (!told)
			orphan_tell(sweep->agent, name, ORPHAN_HALF_DESTROYED, ORPHAN_LEFT,
				    why.msg);
		return error_copy(err, &why);
	}
	note_swept(sweep->removed, name, ENDING_BROKE_OFF);
	return 0;
}

/* Reports a session whose deletion was interrupted, and which has no mark. `why` is the error if
 * the remaining files could not be removed, or NULL if they were removed. */
static void tell_removed(const char *id, const struct error *why, void *data)
{
	const struct sweep *sweep = data;
	char name[SESSION_NAME_ROOM];

	if (!session_name_of_id(id, name))
		return;
	if (why) {
		note_swept(sweep->left, name, why->msg);
		return;
	}
	orphan_tell(sweep->agent, name, ORPHAN_HALF_DESTROYED, ORPHAN_REMOVED, ENDING_BROKE_OFF);
	note_swept(sweep->removed, name, ENDING_BROKE_OFF);
}

/* --- all sessions ----------------------------------------------------------------------------- */

/* Sweeps one session. If the session cannot be removed, the next sweep tries to remove it. */
static int sweep_one(const struct state_dir *dir, const char *id, void *data)
{
	char name[SESSION_NAME_ROOM], ending[SESSION_ID_ROOM];
	const struct sweep *sweep = data;
	struct error why = {0};
	int status;

	if (session_ending_id(id, ending) && session_name_of_id(ending, name)) {
		status = end_marked(sweep, dir, id, name, &why);
	} else if (session_name_of_id(id, name)) {
		status = is_ready(sweep->agent, name, &why);
		if (status >= 0)
			status = status ? keep_ready(sweep, dir, id, name, &why)
					: remove_made(sweep, dir, id, name, &why);
	} else {
		return unfinished_remove(dir, id);
	}
	if (status < 0)
		note_swept(sweep->left, name, why.msg);
	return status;
}

static void sweep_over(const struct sweep *sweep, const char *name, const char *why)
{
	auto_session struct microagent_session *session = session_handle(sweep->agent, name, NULL);
	struct error failed = {0};
	int status = -1;

	if (session) {
		(void)session_read_record(session, NULL);
		status = orphan_remove(sweep->agent, session, ORPHAN_EXPIRED, why, &failed);
	}
	if (status <= 0)
		note_swept(status < 0 ? sweep->left : sweep->removed, name,
			   status < 0 ? failed.msg : why);
}

/* Sweeps the sessions whose lifetime or idle time is over. Before the earliest time at which this
 * can be true, checks the sessions only if the caller wants the lists. */
static void sweep_all_over(const struct sweep *sweep, const struct state_dir *dir)
{
	json_auto_t *ids = NULL, *found = NULL; /* ids of all sessions; object with the reason for
						 * each found session, by its name */
	char text[TERM_TEXT], parsed[SESSION_NAME_ROOM];
	int64_t next = INT64_MAX;
	const char *name;
	json_t *id, *why;
	size_t i;
	int ends;

	if (!sweep->removed && session_ends_later(dir))
		return;
	ends = session_ends_begin(dir);
	ids = state_dir_list(dir, NULL);
	found = json_object();
	/* A live supervisor ends its own session. So a session that is found here has no live
	 * supervisor, or has one that failed to end the session. */
	json_array_foreach(ids, i, id)
	{
		if (session_name_of_id(json_string_value(id), parsed) &&
		    session_over_by(dir, json_string_value(id), text, &next))
			json_object_set_new(found, parsed, json_string(text));
	}
	session_ends_done(ends, next);
	json_object_foreach(found, name, why)
	{
		sweep_over(sweep, name, json_string_value(why));
	}
}

void sessions_sweep(const struct microagent *agent, json_t *removed, json_t *left)
{
	struct sweep sweep = {.agent = agent, .removed = removed, .left = left};
	struct state_dir dir;

	if (state_sub_open(agent, SESSIONS_DIR, false, &dir, NULL) < 0)
		return;
	unfinished_each_abandoned(&dir, sweep_one, &sweep);
	trash_sweep(&dir, tell_removed, &sweep);
	sweep_all_over(&sweep, &dir);
	state_dir_close(&dir);
}
