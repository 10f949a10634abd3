/* SPDX-License-Identifier: MIT */
/* What was in the making when its maker died: removed before the next session is made. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "session/pool.h"

struct sweep {
	const struct microagent *agent;
	json_t *removed; /* NULL: nobody wants to know */
};

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

/* A mark may also stand for a maker that found its name taken by something else, and for a claimer that
 * found the session taken: then there is none in the directory, which is left alone. */
static int remove_session(const struct microagent *agent, const struct state_dir *dir,
			  const char *id, const char *name)
{
	auto_session struct microagent_session *session = NULL;

	if (!has(dir, id, SESSION_RECORD) && !has(dir, id, "workspace.json"))
		return making_remove(dir, id);
	if (!has(dir, id, WORKSPACE_MAKING))
		return 0;
	session = session_handle(agent, name, NULL);
	if (!session)
		return -1;
	(void)session_read_record(session, NULL); /* with it its tokens are found */
	return microagent_session_destroy(session, NULL);
}

static int sweep_one(const struct state_dir *dir, const char *id, void *data)
{
	const struct sweep *sweep = data;
	char name[SESSION_NAME_ROOM];

	if (!session_name_of_id(id, name))
		return making_remove(dir, id);
	if (is_ready(sweep->agent, name)) {
		disown(dir, id);
		return 0;
	}
	/* What cannot be removed now is tried again by the next one. */
	if (remove_session(sweep->agent, dir, id, name) < 0)
		return -1;
	if (sweep->removed && !has(dir, id, "."))
		json_array_append_new(sweep->removed, json_string(name));
	return 0;
}

void sessions_sweep(const struct microagent *agent, json_t *removed)
{
	struct sweep sweep = {.agent = agent, .removed = removed};
	struct state_dir dir;

	if (state_sub_open(agent, SESSIONS_DIR, false, &dir, NULL) < 0)
		return;
	making_each_abandoned(&dir, sweep_one, &sweep);
	state_dir_close(&dir);
}
