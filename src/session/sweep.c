/* SPDX-License-Identifier: MIT */
/* What was in the making or being destroyed when its process died: removed before the next session is
 * made. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "session/orphan.h"
#include "session/pool.h"

#define MAKING_BROKE_OFF "its making broke off"
#define ENDING_BROKE_OFF "its destruction broke off"

struct sweep {
	const struct microagent *agent;
	json_t *removed; /* NULL: nobody wants to know */
};

static void note(const struct sweep *sweep, const char *name, const char *why)
{
	if (sweep->removed)
		json_array_append_new(sweep->removed,
				      json_pack("{s:s,s:s}", "name", name, "why", why));
}

/* A member that its filler has put there, or whose claimer died before it had it. */
static bool is_ready(const struct microagent *agent, const char *name)
{
	json_auto_t *bases = pool_bases(agent->state_path, NULL);
	bool ready = false;
	const json_t *base;
	size_t i;

	json_array_foreach(bases, i, base)
	{
		auto_pool struct pool pool = POOL_NONE;

		if (pool_open(agent->state_path, json_string_value(base), &pool, NULL) == 0)
			ready = ready || pool_has(&pool, POOL_READY, name);
	}
	return ready;
}

static bool has(const struct state_dir *dir, const char *id, const char *file)
{
	autoclose int fd = openat(dir->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstatat(fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void disown(const struct state_dir *dir, const char *id)
{
	struct workspace ws;

	if (workspace_open(dir, id, false, &ws, NULL) < 0)
		return;
	if (ws.fd >= 0)
		making_disown(&ws);
	workspace_close(&ws);
}

/* --- in the making -------------------------------------------------------------------------------- */

/* Before its record: a directory and perhaps a disk, or what somebody else has put there. */
static int remove_bare(const struct sweep *sweep, const struct state_dir *dir, const char *id,
		       const char *name)
{
	bool was = has(dir, id, "."), is;

	if (making_remove(dir, id) < 0)
		return -1;
	is = has(dir, id, ".");
	if (was)
		orphan_tell(sweep->agent, name, ORPHAN_HALF_MADE, is ? ORPHAN_LEFT : ORPHAN_REMOVED,
			    is ? "what has its name is not microagent's" : MAKING_BROKE_OFF);
	if (was && !is)
		note(sweep, name, MAKING_BROKE_OFF);
	return 0;
}

/* A mark may also stand for a maker that found its name taken by something else, and for a claimer that
 * found the session taken: then there is none in the directory, which is left alone. */
static int remove_made(const struct sweep *sweep, const struct state_dir *dir, const char *id,
		       const char *name)
{
	auto_session struct microagent_session *session = NULL;

	if (!has(dir, id, SESSION_RECORD) && !has(dir, id, "workspace.json"))
		return remove_bare(sweep, dir, id, name);
	if (!has(dir, id, WORKSPACE_MAKING))
		return 0;
	session = session_handle(sweep->agent, name, NULL);
	if (!session)
		return -1;
	(void)session_read_record(session, NULL); /* with it its tokens are found */
	if (orphan_remove(sweep->agent, session, ORPHAN_HALF_MADE, MAKING_BROKE_OFF, NULL) < 0)
		return -1;
	note(sweep, name, MAKING_BROKE_OFF);
	return 0;
}

static void keep_ready(const struct sweep *sweep, const struct state_dir *dir, const char *id,
		       const char *name)
{
	if (!has(dir, id, WORKSPACE_MAKING))
		return;
	disown(dir, id);
	orphan_tell(sweep->agent, name, ORPHAN_HALF_MADE, ORPHAN_ADOPTED,
		    "whoever put it into the pool, or claimed it, was killed: it is in the pool");
}

/* --- being destroyed ------------------------------------------------------------------------------ */

/* We have its mark. */
static int end_marked(const struct sweep *sweep, const char *name)
{
	auto_session struct microagent_session *session = session_handle(sweep->agent, name, NULL);

	if (!session)
		return -1;
	(void)session_read_record(session, NULL);
	orphan_tell(sweep->agent, name, ORPHAN_HALF_DESTROYED, ORPHAN_REMOVED, ENDING_BROKE_OFF);
	if (session_end_marked(session, NULL) < 0)
		return -1;
	note(sweep, name, ENDING_BROKE_OFF);
	return 0;
}

/* By a delete that nobody had marked. */
static void tell_gone(const char *id, void *data)
{
	const struct sweep *sweep = data;
	char name[SESSION_NAME_ROOM];

	if (!session_name_of_id(id, name))
		return;
	orphan_tell(sweep->agent, name, ORPHAN_HALF_DESTROYED, ORPHAN_REMOVED, ENDING_BROKE_OFF);
	note(sweep, name, ENDING_BROKE_OFF);
}

/* --- all of them ---------------------------------------------------------------------------------- */

/* What cannot be removed now is tried again by the next one. */
static int sweep_one(const struct state_dir *dir, const char *id, void *data)
{
	char name[SESSION_NAME_ROOM], ending[SESSION_ID_ROOM];
	const struct sweep *sweep = data;

	if (session_ending_id(id, ending) && session_name_of_id(ending, name))
		return end_marked(sweep, name);
	if (!session_name_of_id(id, name))
		return making_remove(dir, id);
	if (!is_ready(sweep->agent, name))
		return remove_made(sweep, dir, id, name);
	keep_ready(sweep, dir, id, name);
	return 0;
}

void sessions_sweep(const struct microagent *agent, json_t *removed)
{
	struct sweep sweep = {.agent = agent, .removed = removed};
	struct state_dir dir;

	if (state_sub_open(agent, SESSIONS_DIR, false, &dir, NULL) < 0)
		return;
	making_each_abandoned(&dir, sweep_one, &sweep);
	gone_sweep(&dir, tell_gone, &sweep);
	state_dir_close(&dir);
}
