/* SPDX-License-Identifier: MIT */
/*
 * Cleans up orphans. An orphan is what a crash, a reboot or a manual change in the state directory
 * has left. Each orphan is removed or adopted. To adopt an orphan is to record its present state,
 * so that its user can look at it and destroy it.
 *
 *   a session whose making was interrupted             removed
 *   made just before the power failed, never run       removed: its records are empty
 *   a session whose destruction was interrupted        removed
 *   a session whose lifetime or idle time is over      removed
 *   recorded as alive, but has no process              adopted: recorded as failed
 *   a fork or a snapshot whose making was interrupted  removed; its session stays
 *   a base whose making or deletion was interrupted    removed
 *   a template whose making or removal was interrupted removed
 *   a process whose bundle is gone                     removed: the process is killed
 *   neither a bundle nor an archive (gone.c)           adopted: noted in the security log
 *   a token without a session                          removed
 *   a member of a pool whose machine has ended         removed
 *   a member whose destruction was interrupted         removed
 *   a pool whose base is gone                          removed, with its members
 *   the members of a pool that is not kept             removed
 *   a pool that has a gap and no filler                adopted: gets a filler
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/process.h"
#include "base/proc.h"
#include "session/gc.h"
#include "session/points/point.h"
#include "session/pools/pool.h"
#include "session/sessions/orphan.h"
#include "store/taken.h"

int gc_note(json_t *list, const char *name, const char *why, struct error *err)
{
	json_t *entry = json_pack("{s:s,s:s}", "name", name, "why", why);

	return entry && json_array_append_new(list, entry) == 0
		       ? 0
		       : error_errno(err, ENOMEM, "orphans");
}

/* Notes an orphan that could not be removed, so that the caller can go on with the next orphan. A
 * name in the error's text may be invalid UTF-8, so invalid bytes are replaced. */
int gc_leave(struct gc *gc, const char *name, const struct error *why, struct error *err)
{
	json_t *entry = json_pack("{s:s,s:o}", "name", name, "why",
				  json_string_lossy(why->msg, strlen(why->msg)));

	return entry && json_array_append_new(gc->left, entry) == 0
		       ? 0
		       : error_errno(err, ENOMEM, "orphans");
}

/* Removes bases, templates, forks and snapshots whose making or removal was interrupted. */
static int gc_swept(struct gc *gc, struct error *err)
{
	static const struct {
		void (*sweep)(const struct microagent *agent, json_t *removed);
		const char *why;
	} rows[] = {{bases_sweep, "a base whose creation or deletion was interrupted"},
		    {templates_sweep, "a template whose creation or removal was interrupted"},
		    {points_sweep, "a fork or a snapshot that was interrupted"}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_auto_t *names = json_array();
		const json_t *name;
		size_t j;

		rows[i].sweep(gc->agent, names);
		json_array_foreach(names, j, name)
		{
			if (gc_note(gc->removed, json_string_value(name), rows[i].why, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* --- bundles without a process ---------------------------------------------------------------- */

static enum state bundle_state(const struct workspace *ws)
{
	enum state state = STATE_UNKNOWN;
	json_t *event = NULL;
	bool known = workspace_state(ws, &state, &event, NULL) == 0;

	json_decref(event);
	return known ? state : STATE_UNKNOWN;
}

/* Returns true if the session is recorded as alive, so that it should have a process. */
static bool should_be_alive(const struct workspace *ws)
{
	enum state state = bundle_state(ws);

	/* A session in quarantine should have no machine. If the session's socket still exists, its
	 * machine ended before the machine could remove the socket. */
	if (state == STATE_QUARANTINED)
		return faccessat(ws->fd, "control.sock", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	return state_is_live(state);
}

/* Returns the size of a file of the session in bytes, or -1 if the file does not exist. */
static off_t file_size_of(const struct workspace *ws, const char *file)
{
	struct stat st;

	return fstatat(ws->fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)
		       ? st.st_size
		       : -1;
}

/* Returns true if a power failure has emptied the records of a session that never ran. The records
 * are synced to the disk only when the session first starts, so a power failure before that can
 * leave them empty. */
static bool is_lost_clone(const struct workspace *ws)
{
	off_t record = file_size_of(ws, SESSION_RECORD),
	      manifest = file_size_of(ws, "workspace.json");

	return record >= 0 && manifest >= 0 && (record == 0 || manifest == 0) &&
	       file_size_of(ws, "supervisor.log") < 0 && file_size_of(ws, WORKSPACE_MAKING) < 0;
}

#define POWER_LOST "made just before the host lost power, and never run"

#define MACHINE_GONE "its machine is gone, which is recorded now"

/* Returns true if the session is recorded as failed or quarantined and has no process. Returns
 * false if a user has started or destroyed the session meanwhile. */
static bool is_adopted(const struct state_dir *dir, const char *id)
{
	auto_workspace struct workspace ws = {0};
	enum state state;

	if (workspace_open(dir, id, false, &ws, NULL) < 0 || ws.fd < 0)
		return false;
	state = bundle_state(&ws);
	return (state == STATE_FAILED || state == STATE_QUARANTINED) && !lease_is_held(&ws);
}

static int gc_bundle(struct gc *gc, struct microagent *sessions, const struct state_dir *dir,
		     const char *id, struct error *err)
{
	char name[SESSION_NAME_ROOM];
	bool lost = false, orphan = false;
	struct workspace ws;

	if (!session_name_of_id(id, name) || workspace_open(dir, id, false, &ws, NULL) < 0)
		return 0;
	/* The lease is checked last, because a starting machine first takes the lease and then
	 * records its state. A check of the lease before the state could miss such a machine. */
	if (ws.fd >= 0) {
		lost = is_lost_clone(&ws);
		orphan = !lost && should_be_alive(&ws);
		if ((lost || orphan) && lease_is_held(&ws))
			lost = orphan = false;
	}
	workspace_close(&ws);
	if (lost) {
		auto_session struct microagent_session *session =
			session_handle(gc->agent, name, err);
		struct error why = {0};
		int status;

		if (!session)
			return -1;
		status = orphan_remove(gc->agent, session, ORPHAN_HALF_MADE, POWER_LOST, &why);
		if (status < 0)
			return gc_leave(gc, name, &why, err);
		return status == 0 ? gc_note(gc->removed, name, POWER_LOST, err) : 0;
	}
	/* microagent_status() makes the supervisor find out what happened to the machine, and
	 * record the result. */
	if (!orphan || microagent_status(sessions, id, NULL, NULL) < 0 || !is_adopted(dir, id))
		return 0;
	orphan_tell(gc->agent, name, ORPHAN_NO_PROCESS, ORPHAN_ADOPTED, MACHINE_GONE);
	return gc_note(gc->adopted, name, MACHINE_GONE, err);
}

static int gc_bundles(struct gc *gc, struct error *err)
{
	struct microagent *sessions = sessions_agent(gc->agent, err);
	auto_state_dir struct state_dir dir = {0};
	json_auto_t *names = NULL;
	int status = 0;
	json_t *id;
	size_t i;

	if (!sessions)
		return -1;
	if (state_dir_open(sessions->state_path, false, &dir, NULL) == 0) {
		names = state_dir_list(&dir, err);
		status = names ? 0 : -1;
		json_array_foreach(names, i, id)
		{
			if (status == 0)
				status = gc_bundle(gc, sessions, &dir, json_string_value(id), err);
		}
	}
	microagent_close(sessions);
	return status;
}

/* --- processes without a bundle --------------------------------------------------------------- */

/* Returns true if the process is the live supervisor of a session below `place` whose directory is
 * gone. In this case, writes the session's name to `name`. The session's other processes end with
 * its live supervisor, so they need no check. */
static bool is_lost_process(pid_t pid, const char *place, char name[SESSION_NAME_ROOM])
{
	size_t len = strlen(place);
	char id[PATH_MAX];

	return live_supervisor_is(pid, id, sizeof(id)) && strncmp(id, place, len) == 0 &&
	       id[len] == '/' && session_name_of_id(id + len + 1, name) && access(id, F_OK) < 0 &&
	       errno == ENOENT;
}

#define LOST_DIRECTORY "its machine still ran after its directory was removed"

struct lost_search {
	struct gc *gc;
	const char *place;
	struct error *err;
};

static int end_if_lost(pid_t pid, void *data)
{
	__attribute__((cleanup(proc_let_go))) struct proc lost = PROC_NONE;
	const struct lost_search *search = data;
	struct gc *gc = search->gc;
	char name[SESSION_NAME_ROOM];
	struct error why = {0};

	if (pid <= 1 || !is_lost_process(pid, search->place, name) ||
	    proc_hold(pid, &lost, NULL) < 0)
		return 0;
	/* The process is checked a second time, because it could have exited before this code got a
	 * handle of it. Another process could then have got its pid. */
	if (!is_lost_process(lost.pid, search->place, name) ||
	    proc_signal(&lost, SIGKILL, NULL) < 0)
		return 0;
	if (fd_wait(lost.pidfd, POLLIN, limit_deadline(LIMIT_KILL_MS), &why) < 0) {
		orphan_tell(gc->agent, name, ORPHAN_NO_BUNDLE, ORPHAN_LEFT, why.msg);
		return gc_leave(gc, name, &why, search->err);
	}
	orphan_tell(gc->agent, name, ORPHAN_NO_BUNDLE, ORPHAN_REMOVED, LOST_DIRECTORY);
	return gc_note(gc->removed, name, LOST_DIRECTORY, search->err);
}

static int gc_processes(struct gc *gc, struct error *err)
{
	autofree char *place = path_join(gc->agent->state_path, SESSIONS_DIR, err);
	struct lost_search search = {gc, place, err};

	return place ? process_each(end_if_lost, &search, err) : -1;
}

json_t *microagent_session_gc(struct microagent *agent, struct error *err)
{
	json_auto_t *removed = json_array(), *adopted = json_array(), *left = json_array();
	struct gc gc = {.agent = agent, .removed = removed, .adopted = adopted, .left = left};

	if (!removed || !adopted || !left) {
		error_errno(err, ENOMEM, "orphans");
		return NULL;
	}
	sessions_sweep(agent, removed, left);
	/* The pools are cleaned up last, because the steps before also remove the tokens of the
	 * removed sessions. */
	if (gc_swept(&gc, err) < 0 || gc_processes(&gc, err) < 0 || gc_bundles(&gc, err) < 0 ||
	    sessions_tell_gone(agent, adopted, err) < 0 || gc_pools(&gc, err) < 0)
		return NULL;
	return json_pack("{s:O,s:O,s:O*}", "removed", removed, "adopted", adopted, "left",
			 json_array_size(left) ? left : NULL);
}
