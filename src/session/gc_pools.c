/* SPDX-License-Identifier: MIT */
/* Cleans up orphans of pools: tokens, members, and pools without a base or a filler. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "session/gc.h"
#include "session/pools/pool.h"
#include "session/sessions/orphan.h"

static bool is_in(const json_t *list, const char *name)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if (strcmp(json_text(entry, "name", NULL), name) == 0)
			return true;
	}
	return false;
}

static bool session_is_there(const struct gc *gc, const char *name)
{
	auto_session struct microagent_session *session = session_handle(gc->agent, name, NULL);
	struct open_workspace existing = {0};
	struct error why = {0};

	if (!session)
		return true;
	if (open_workspace_named(session->agent, session->id, &existing, &why) < 0)
		return why.code != ERR_NOT_FOUND;
	open_workspace_close(&existing);
	return true;
}

static int gc_claimed(struct gc *gc, const struct pool *pool, struct error *err)
{
	json_auto_t *names = pool_tokens(pool, POOL_CLAIMED, err);
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
	{
		const char *word = json_string_value(name);

		if (session_is_there(gc, word))
			continue;
		pool_forget(pool, word);
		if (gc_note(gc->removed, word,
			    "it was claimed from the pool, and its directory is gone", err) < 0)
			return -1;
	}
	return names ? 0 : -1;
}

static int gc_ready(struct gc *gc, const struct pool *pool, struct error *err)
{
	json_auto_t *names = pool_tokens(pool, POOL_READY, err);
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
	{
		const char *word = json_string_value(name);
		struct error why = {0};
		int done = pool_member_lives(gc->agent, word)
				   ? 0
				   : pool_discard(gc->agent, pool, word, &why);

		if (done < 0 ? gc_leave(gc, word, &why, err) < 0
			     : done > 0 && gc_note(gc->removed, word, POOL_MEMBER_ENDED, err) < 0)
			return -1;
	}
	return names ? 0 : -1;
}

#define ENDING_BROKE_OFF "its destruction was interrupted"

/* Returns true if a process that has died left the member's token in ending/. A living process that
 * destroys the member holds the member's mark. (It need not hold the pool's lock.) So if this
 * process gets the mark and the token still exists, no living process is destroying the member. */
static bool is_left_ending(const struct gc *gc, const struct pool *pool, const char *name)
{
	char mark[SESSION_MARK_ROOM];
	struct error why = {0};
	autoclose int fd = -1;
	struct state_dir dir;
	bool left;

	if (state_sub_open(gc->agent, SESSIONS_DIR, false, &dir, NULL) < 0)
		return true;
	session_ending_mark(name, mark);
	fd = unfinished_mark(&dir, mark, &why);
	left = fd >= 0 ? pool_has(pool, POOL_ENDING, name) : why.code != ERR_CONFLICT;
	if (fd >= 0)
		(void)unfinished_unmark(&dir, mark, NULL);
	state_dir_close(&dir);
	return left;
}

/* Finishes interrupted destructions of members. Does nothing if another process has the pool's
 * lock, because that process may be setting or draining the pool. */
static int gc_ending(struct gc *gc, const struct pool *pool, struct error *err)
{
	json_auto_t *names = pool_tokens(pool, POOL_ENDING, err);
	const json_t *name;
	size_t i;

	if (!names)
		return -1;
	if (json_array_size(names) == 0 || !pool_try_lock(pool) || pool_has_filler(pool))
		return 0;
	json_array_foreach(names, i, name)
	{
		const char *word = json_string_value(name);
		struct error why = {0};
		int noted;

		/* Skips a member whose removal has already failed in this run, and a member that a
		 * living process is destroying. */
		if (is_in(gc->left, word) || !is_left_ending(gc, pool, word))
			continue;
		orphan_tell(gc->agent, word, ORPHAN_HALF_DESTROYED, ORPHAN_REMOVED,
			    ENDING_BROKE_OFF);
		if (pool_finish_one(gc->agent, pool, word, &why) == 0) {
			noted = gc_note(gc->removed, word, ENDING_BROKE_OFF, err);
		} else {
			orphan_tell(gc->agent, word, ORPHAN_HALF_DESTROYED, ORPHAN_LEFT, why.msg);
			noted = gc_leave(gc, word, &why, err);
		}
		if (noted < 0)
			return -1;
	}
	return 0;
}

#define POOL_LABEL_ROOM (sizeof(POOL_DIR "/") + NAME_MAX)

/* Writes the label of a pool, pool/BASE. A label that is only the base's name would look like a
 * removed base, and the base may still exist. */
static void pool_label(const char *base, char out[POOL_LABEL_ROOM])
{
	snprintf(out, POOL_LABEL_ROOM, POOL_DIR "/%s", base);
}

static int note_pool(json_t *list, const char *base, const char *why, struct error *err)
{
	char label[POOL_LABEL_ROOM];

	pool_label(base, label);
	return gc_note(list, label, why, err);
}

static int leave_pool(struct gc *gc, const char *base, const struct error *why, struct error *err)
{
	char label[POOL_LABEL_ROOM];

	pool_label(base, label);
	return gc_leave(gc, label, why, err);
}

/* Removes the members that a killed `pool set` or `pool drain` has left. Skips a pool with a
 * damaged record, so that a user can examine the record. */
static int gc_unkept(struct gc *gc, const struct pool *pool, struct error *err)
{
	json_auto_t *names = pool_tokens(pool, POOL_READY, err);
	struct pool_record record;
	struct error why = {0};

	if (!names)
		return -1;
	if (json_array_size(names) == 0 || !pool_try_lock(pool) ||
	    pool_read(pool, &record, &why) == 0 || why.code != ERR_NOT_FOUND)
		return 0;
	if (pool_drain(gc->agent, pool, &why) < 0)
		return leave_pool(gc, pool->base, &why, err);
	return note_pool(gc->removed, pool->base, "members of a pool that does not exist any more",
			 err);
}

static bool base_is_gone(struct microagent *agent, const char *name)
{
	auto_base struct base base = BASE_NONE;
	struct error why = {0};

	return base_open(agent, name, BASE_SHARED, &base, &why) < 0 && why.code == ERR_NOT_FOUND;
}

static int gc_pool(struct gc *gc, const char *base, struct error *err)
{
	auto_pool struct pool pool = POOL_NONE;
	struct pool_record record;
	struct error why = {0};

	if (base_is_gone(gc->agent, base)) {
		return microagent_pool_drain(gc->agent, base, &why) < 0
			       ? leave_pool(gc, base, &why, err)
			       : note_pool(gc->removed, base,
					   "a pool whose base does not exist any more", err);
	}
	if (pool_open(gc->agent->state_path, base, &pool, NULL) < 0)
		return 0;
	if (gc_claimed(gc, &pool, err) < 0 || gc_ready(gc, &pool, err) < 0 ||
	    gc_ending(gc, &pool, err) < 0 || gc_unkept(gc, &pool, err) < 0)
		return -1;
	pool_tidy(&pool);
	if (pool_read(&pool, &record, NULL) == 0) {
		json_auto_t *ready = pool_tokens(&pool, POOL_READY, err);

		if (!ready)
			return -1;
		if ((json_int_t)json_array_size(ready) < record.size && !pool_has_filler(&pool))
			return pool_filler_start(gc->agent, &pool, err) < 0
				       ? -1
				       : note_pool(gc->adopted, base,
						   "a pool that no process fills", err);
	}
	return 0;
}

int gc_pools(struct gc *gc, struct error *err)
{
	json_auto_t *bases = pool_bases(gc->agent->state_path, err);
	const json_t *base;
	size_t i;

	json_array_foreach(bases, i, base)
	{
		const char *word = json_string_value(base);
		struct error why = {0};

		if (gc_pool(gc, word, &why) < 0 && leave_pool(gc, word, &why, err) < 0)
			return -1;
	}
	return bases ? 0 : -1;
}
