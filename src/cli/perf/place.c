/* SPDX-License-Identifier: MIT */
/*
 * Where machines are measured: <state>/.locks/.perf/XXXXXX, a state directory of its own, held by a
 * lock on it, so that nothing of it is ever seen among the user's workspaces, pools and archives. A
 * base of the user's is there by a link to where his are; one that was made for the measure goes
 * with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "cli/options/guest.h"
#include "cli/perf/perf.h"

#define PLACES ".locks/.perf"
#define BASES "bases"
#define OWN_BASE "perf"

/* --- the end of one -------------------------------------------------------------------------- */

/* Each name of a list's entries; what cannot be removed is the first error. */
static int remove_listed(struct microagent *agent, json_t *answer, const char *key,
			 int (*fn)(struct microagent *, const char *, struct error *),
			 struct error *err)
{
	json_auto_t *held = answer;
	const json_t *entry;
	int status = 0;
	size_t i;

	json_array_foreach(json_object_get(held, key), i, entry)
	{
		struct error why = {0};

		if (fn(agent, json_text(entry, "name", ""), &why) < 0 &&
		    why.code != ERR_NOT_FOUND && status == 0)
			status = error_copy(err, &why);
	}
	return status;
}

static bool has_own_bases(int place)
{
	struct stat st;

	return fstatat(place, BASES, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* What a killed making has left is gc's first. */
static int clear_place(struct microagent *agent, int place, struct error *err)
{
	struct error why = {0};

	if (faccessat(place, "pool", F_OK, 0) == 0 && microagent_pool_drain(agent, NULL, &why) < 0)
		return error_copy(err, &why);
	if (faccessat(place, "sessions", F_OK, 0) == 0)
		json_decref(microagent_session_gc(agent, NULL));
	if (remove_listed(agent, microagent_session_list(agent, NULL), "sessions",
			  microagent_session_destroy_named, err) < 0)
		return -1;
	if (!has_own_bases(place))
		return 0;
	return remove_listed(agent, microagent_base_list(agent, NULL), "bases",
			     microagent_base_delete, err);
}

static int remove_place(struct microagent *agent, int dir, int place, const char *name,
			struct error *err)
{
	if (clear_place(agent, place, err) < 0 || path_remove_tree_at(dir, name, err) < 0)
		return error_prefix(err, "what was measured stays in %s",
				    microagent_state_dir(agent));
	return 0;
}

/* --- what a killed one has left -------------------------------------------------------------- */

static void sweep_place(int dir, const char *path, const char *name)
{
	autoclose int place = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autofree char *state = path_join(path, name, NULL);
	struct microagent *agent;
	struct error why = {0};

	if (place < 0 || !state || flock(place, LOCK_EX | LOCK_NB) < 0)
		return;
	agent = microagent_open(state, &why);
	if (!agent || remove_place(agent, dir, place, name, &why) < 0)
		cli_warn("%s", why.msg);
	microagent_close(agent);
}

static void sweep_places(int dir, const char *path)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (*entry->d_name != '.')
			sweep_place(dir, path, entry->d_name);
}

/* --- the beginning --------------------------------------------------------------------------- */

/* Under the lock of .perf: between its making and its lock it would be taken for one that was left.
 */
static int make_locked_place(struct perf_place *place, const char *path, struct error *err)
{
	if (flock(place->dir, LOCK_EX) < 0)
		return error_errno(err, errno, "lock of %s", path);
	sweep_places(place->dir, path);
	place->path = path_join(path, "XXXXXX", err);
	if (!place->path)
		return -1;
	if (!mkdtemp(place->path)) {
		free(steal_ptr(&place->path));
		return error_errno(err, errno, "make a directory in %s", path);
	}
	place->lock = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place->lock < 0 || flock(place->lock, LOCK_EX | LOCK_NB) < 0)
		return error_errno(err, errno, "%s", place->path);
	flock(place->dir, LOCK_UN);
	return 0;
}

/* The state directory is looked at as a whole first, so that it is known as one of the user's. */
static int look_at_users_state(struct perf_place *place, struct microagent *agent, const char *base,
			       struct error *err)
{
	json_auto_t *answer = NULL;

	if (!base && path_make_dirs(microagent_state_dir(agent), 0700, err) < 0)
		return -1;
	answer = base ? microagent_base_show(agent, base, err) : microagent_base_list(agent, err);
	if (!answer)
		return -1;
	if (base)
		snprintf(place->base, sizeof(place->base), "%s", json_text(answer, "name", base));
	return 0;
}

static int find_place(struct perf_place *place, const struct cli *cli, const char *base,
		      struct error *err)
{
	struct microagent *agent = guest_open(cli, NULL, err);
	autofree char *path = NULL;
	int status = -1;

	if (!agent)
		return -1;
	if (look_at_users_state(place, agent, base, err) == 0 &&
	    (path = path_join(microagent_state_dir(agent), PLACES, err))) {
		if (path_make_dirs(path, 0700, err) == 0)
			place->dir = path_open_dir(path, err);
		status = place->dir < 0 ? -1 : make_locked_place(place, path, err);
	}
	microagent_close(agent);
	return status;
}

static int put_base(struct perf_place *place, const char *base, struct error *err)
{
	const struct microagent_base_spec spec = {.cancel = place->signals.fd};
	json_auto_t *made = NULL;

	if (base)
		return symlinkat("../../../" BASES, place->lock, BASES) < 0
			       ? error_errno(err, errno, "%s/" BASES, place->path)
			       : 0;
	made = microagent_base_create(place->agent, OWN_BASE, &spec, &made, err) < 0 ? NULL : made;
	if (!made)
		return -1;
	snprintf(place->base, sizeof(place->base), "%s", json_text(made, "name", ""));
	place->own_base = true;
	return 0;
}

int perf_place_open(struct perf_place *place, const struct cli *cli, const char *base,
		    struct error *err)
{
	autofree char *sessions = NULL;

	if (signals_open_ending(&place->signals, err) < 0 || find_place(place, cli, base, err) < 0)
		return -1;
	place->cli = *cli;
	place->cli.state_dir_option = place->path;
	place->agent = guest_open(&place->cli, place->progress, err);
	sessions = path_join(place->path, "sessions", err);
	place->sessions = sessions && place->agent ? microagent_open(sessions, err) : NULL;
	return place->sessions ? put_base(place, base, err) : -1;
}

int perf_place_close(struct perf_place *place, struct error *err)
{
	int status = 0;

	if (place->agent)
		status = remove_place(place->agent, place->dir, place->lock,
				      strrchr(place->path, '/') + 1, err);
	else if (place->path)
		rmdir(place->path);
	microagent_close(place->sessions);
	microagent_close(place->agent);
	cleanup_close(&place->lock);
	cleanup_close(&place->dir);
	free(place->path);
	signals_close(&place->signals);
	*place = (struct perf_place)PERF_PLACE_NONE;
	return status;
}

/* --- a machine in it ------------------------------------------------------------------------- */

int perf_go_on(struct perf_place *place, struct error *err)
{
	if (!place->signals.last && signals_next(&place->signals) <= 0)
		return 0;
	return error_set(err, ERR_UNAVAILABLE, "cancelled");
}

int perf_session_make(struct perf_place *place, struct perf_session *out, struct error *err)
{
	const struct microagent_session_spec spec = {.base = place->base,
						     .machine.network = place->network,
						     .cold = place->cold,
						     .cancel = place->signals.fd};

	if (perf_go_on(place, err) < 0)
		return -1;
	out->began_ns = clock_mono_ns();
	if (microagent_session_create(place->agent, &spec, &out->session, err) < 0)
		return -1;
	out->made_ns = clock_mono_ns();
	snprintf(out->id, sizeof(out->id), "%s.bundle", microagent_session_name(out->session));
	return 0;
}

int perf_session_end(struct perf_session *session, struct error *err)
{
	int status = session->session ? microagent_session_destroy(session->session, err) : 0;

	microagent_session_close(session->session);
	*session = (struct perf_session){0};
	return status;
}

int perf_time_exec(struct perf_place *place, const struct perf_session *session,
		   struct microagent_exec_times *out, struct error *err)
{
	static const char *const command[] = {"/bin/true", NULL};
	const struct microagent_exec exec = {.command = command};

	if (perf_go_on(place, err) < 0)
		return -1;
	return microagent_time_exec(place->sessions, session->id, &exec, out, err);
}
