/* SPDX-License-Identifier: MIT */
/*
 * Destroys members that nobody has claimed. First, a member's token is renamed to ending/. A claim
 * renames the token too, so only one of two processes gets the token: the one that claims or the
 * one that destroys. Every process that looks at the pool destroys the members in ending/, and
 * several processes may do this at the same time. So a destruction is finished even if the process
 * that began it dies.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "session/pools/pool.h"
#include "session/sessions/orphan.h"

static bool member_is_there(const struct microagent_session *session)
{
	struct open_workspace existing = {0};
	struct error why = {0};

	if (open_workspace_named(session->agent, session->id, &existing, &why) < 0)
		return why.code != ERR_NOT_FOUND;
	open_workspace_close(&existing);
	return true;
}

/* Destroys a member. If another process is already destroying the member, waits for that process,
 * and finishes the destruction if that process dies. */
static int destroy_member(struct microagent_session *session, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_POOL_LOCK_MS);
	static const struct timespec moment = {.tv_nsec = 5 * (long)NS_PER_MS};

	while (session_remove(session, err) >= 0) {
		if (!member_is_there(session))
			return 0;
		if (clock_mono_ns() > deadline)
			return error_set(
				err, ERR_TIMEOUT,
				"session %s is being destroyed by another command, which does not end: look at that command, or end it",
				session->name);
		nanosleep(&moment, NULL);
	}
	return -1;
}

/* Returns true if the member was not destroyed because it is in quarantine. Such a member leaves
 * its pool. */
static bool is_kept(const struct error *why)
{
	return why->reason == REASON_SESSION_QUARANTINED;
}

int pool_discard(const struct microagent *agent, const struct pool *pool, const char *name,
		 struct error *err)
{
	auto_session struct microagent_session *session = session_handle(agent, name, err);
	int status = session ? pool_end(pool, name, err) : -1;
	struct error why = {0};

	if (status <= 0)
		return status;
	status = orphan_remove(agent, session, ORPHAN_NO_PROCESS, POOL_MEMBER_ENDED, &why);
	if (status > 0)
		return 0;
	if (status < 0 && !is_kept(&why))
		return error_copy(err, &why);
	pool_forget(pool, name);
	return status == 0;
}

int pool_finish_one(const struct microagent *agent, const struct pool *pool, const char *name,
		    struct error *err)
{
	auto_session struct microagent_session *session = session_handle(agent, name, err);
	struct error why = {0};

	if (!session)
		return -1;
	if (destroy_member(session, &why) < 0 && !is_kept(&why))
		return error_copy(err, &why);
	pool_forget(pool, name);
	return 0;
}

int pool_finish(const struct microagent *agent, const struct pool *pool, struct error *err)
{
	json_auto_t *names = pool_tokens(pool, POOL_ENDING, err);
	const json_t *name;
	int status = 0;
	size_t i;

	/* If a member cannot be removed, the next members are still removed. The first error is
	 * reported. */
	json_array_foreach(names, i, name)
	{
		if (pool_finish_one(agent, pool, json_string_value(name),
				    status == 0 ? err : NULL) < 0)
			status = -1;
	}
	return names ? status : -1;
}

int pool_shrink(const struct microagent *agent, const struct pool *pool, size_t left,
		struct error *err)
{
	json_auto_t *names = pool_tokens(pool, POOL_READY, err);
	size_t count = json_array_size(names), i;
	const json_t *name;

	if (!names)
		return -1;
	json_array_foreach(names, i, name)
	{
		if (count <= left)
			break;
		/* If another process has claimed the member meanwhile, the member counts as removed
		 * too, because it no longer waits in the pool. */
		if (pool_end(pool, json_string_value(name), err) < 0)
			return -1;
		count--;
	}
	return pool_finish(agent, pool, err);
}

int pool_drain(const struct microagent *agent, const struct pool *pool, struct error *err)
{
	if (unlinkat(pool->dir.fd, POOL_RECORD, 0) < 0 && errno != ENOENT)
		return error_errno(err, errno, "%s/" POOL_RECORD, pool->dir.path);
	if (pool_filler_end(pool, err) < 0)
		return -1;
	sessions_sweep(agent, NULL, NULL);
	if (pool_shrink(agent, pool, 0, err) < 0)
		return -1;
	pool_forget_gone(pool);
	pool_tidy(pool);
	return 0;
}
