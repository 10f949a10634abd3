/* SPDX-License-Identifier: MIT */
/*
 * The directory and the tokens of a base's pool. A pool consists of files only, and has no daemon.
 * This header has what the code of sessions needs of a pool: the destruction of a session removes
 * its token, and a session that waits in a pool is not swept. pools/pool.h has the records, fillers
 * and claims of pools. A token is an empty file with the name of a session.
 *
 *   <state>/pool/<base>/pool.json    how many sessions are kept ready, and of what kind; if this
 *                                    file is missing, none are
 *                       ready/       a token for each session that nobody has claimed
 *                       claimed/     a token for each session that somebody has claimed
 *                       ending/      a token for each session that is being destroyed
 *                       filler.lock  locked by the process that fills the pool, while it runs
 *                       filler.log   the messages of this process
 *
 * Members are ordinary sessions, and their directories never move. The process that renames a token
 * from ready/ to claimed/ has claimed the session. If two processes rename the same token, only one
 * of them succeeds. A process that destroys members first renames their tokens to ending/, so that
 * nobody claims these members. If this process dies, the next process that looks at the pool
 * finishes the destruction.
 *
 * A session is marked as unfinished (api/unfinished.c) until it is a member. When a member is
 * claimed, it is marked again until the claiming process has returned it to the user. If the
 * process that makes or claims the session dies meanwhile, the next sweep removes the session.
 */
#ifndef SESSION_TOKENS_H
#define SESSION_TOKENS_H

#include <jansson.h>
#include <stdbool.h>

#include "session/sessions/session.h"

#define POOL_DIR "pool"
#define POOL_RECORD "pool.json"
#define POOL_READY "ready"
#define POOL_CLAIMED "claimed"
#define POOL_ENDING "ending"
#define POOL_LOCK "filler.lock"
#define POOL_LOG "filler.log"

struct pool {
	struct state_dir dir; /* <state>/pool/<base> */
	char base[sizeof(((struct base_name *)0)->full)];
};
#define POOL_NONE                  \
	{                          \
		.dir = {.fd = -1 } \
	}

/* Opens the pool's directory, which may have tokens of claimed sessions but no record.
 * ERR_NOT_FOUND: the directory does not exist. */
int pool_open(const char *state, const char *base, struct pool *out, struct error *err);
/* Opens and locks the pool's directory. Makes the directory with its contents if it is missing.
 * While the pool is locked, no other process sets, drains or tidies it. If another process has the
 * lock, waits until that process releases it. ERR_CONFLICT: the wait took too long. */
int pool_open_locked(const char *state, const char *base, struct pool *out, struct error *err);
/* Locks an open pool. Returns false if another process has the lock, or if the pool was removed
 * meanwhile. */
bool pool_try_lock(const struct pool *pool);
void pool_close(struct pool *pool); /* accepts POOL_NONE */
#define auto_pool __attribute__((cleanup(pool_close)))
/* Returns the sorted names of the bases that have pools below `state`, or an empty array if there
 * are none. The caller releases the array. */
json_t *pool_bases(const char *state, struct error *err);
/* Removes the directory of a pool that has no tokens. Does nothing if the pool has a record, or if
 * another process works on the pool. */
void pool_tidy(const struct pool *pool);

/* Returns true if a process is running that fills the pool. */
bool pool_has_filler(const struct pool *pool);

/* --- tokens ---------------------------------------------------------------------------------- */

/* Returns the sorted names of the tokens in the directory `kind`, which is POOL_READY, POOL_CLAIMED
 * or POOL_ENDING. The name of the oldest session comes first. The caller releases the array. */
json_t *pool_tokens(const struct pool *pool, const char *kind, struct error *err);
bool pool_has(const struct pool *pool, const char *kind, const char *name);
/* Adds a token to ready/. Fails if the token already exists. */
int pool_add(const struct pool *pool, const char *name, struct error *err);
/* Moves a token from ready/ to claimed/. Returns false if another process was first. */
bool pool_take(const struct pool *pool, const char *name);
/* Moves a token from ready/ to ending/. Returns 1 if this process has moved the token, 0 if another
 * process was first, or -1 with err set. */
int pool_end(const struct pool *pool, const char *name, struct error *err);
/* Removes all tokens with that name. */
void pool_forget(const struct pool *pool, const char *name);
/* Removes the tokens in claimed/ whose sessions do not exist any more: their lifetime or idle time
 * was over, or a user removed them manually. */
void pool_forget_gone(const struct pool *pool);
/* Notes that a session is being claimed, so that the fillers of all pools pause for a while. */
void pool_touch(const struct pool *pool);

#endif
