/* SPDX-License-Identifier: MIT */
/*
 * The warm pool of a base: only files, and no daemon. This header has the pool's directory with the
 * tokens, which is all that the life of a session needs of a pool: the end of a session removes its
 * token, and a session that waits in a pool is not swept. Records, fillers and claims are built on
 * it (pool.h).
 *
 *   <state>/pool/<base>/pool.json    how many sessions are kept ready, and of what kind; gone: none
 *                       ready/       a token for each that nobody has: an empty file of its name
 *                       claimed/     for each that somebody has
 *                       ending/      and for each that is being destroyed
 *                       filler.lock  held by the process that fills it, while there is one
 *                       filler.log   what that process has to say
 *
 * Members are ordinary sessions and never move. The process that renames a token from ready/ to
 * claimed/ has the session; two renames of one token cannot both succeed. A process that destroys
 * members renames their tokens to ending/ first, so that nobody claims those members any more. If
 * that process dies, the next process that looks at the pool finishes the work. A session that has
 * not become a member yet, or whose claimer has not told anybody of it, is marked as unfinished
 * (api/unfinished.c): when its process dies, the next sweep removes it.
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
 * ERR_NOT_FOUND: there is none. */
int pool_open(const char *state, const char *base, struct pool *out, struct error *err);
/* Opens and locks the pool's directory, and makes it with its contents if it is missing. While it
 * is locked, nobody else sets, drains or tidies the pool. Waits for another holder of the lock.
 * ERR_CONFLICT: that took too long. */
int pool_open_locked(const char *state, const char *base, struct pool *out, struct error *err);
/* Locks an open pool. Returns false if another process has the lock, or the pool was removed
 * meanwhile. */
bool pool_try_lock(const struct pool *pool);
void pool_close(struct pool *pool); /* accepts POOL_NONE */
#define auto_pool __attribute__((cleanup(pool_close)))
/* Returns the sorted names of the bases that have pools below state; [] if there are none. */
json_t *pool_bases(const char *state, struct error *err);
/* Removes the directory of a pool that has no tokens, unless the pool is kept or another process
 * works on it. */
void pool_tidy(const struct pool *pool);

/* Returns whether a process that fills the pool runs. */
bool pool_has_filler(const struct pool *pool);

/* --- tokens ---------------------------------------------------------------------------------- */

/* Returns the names in POOL_READY, POOL_CLAIMED or POOL_ENDING, sorted: the oldest first. */
json_t *pool_tokens(const struct pool *pool, const char *kind, struct error *err);
bool pool_has(const struct pool *pool, const char *kind, const char *name);
/* Adds a new token in ready/. */
int pool_add(const struct pool *pool, const char *name, struct error *err);
/* Moves a token from ready/ to claimed/. Returns false if another process was first. */
bool pool_take(const struct pool *pool, const char *name);
/* Moves a token from ready/ to ending/. Returns 1 if it did, 0 if another process was first; -1
 * with an error. */
int pool_end(const struct pool *pool, const char *name, struct error *err);
/* Removes all tokens of that name. */
void pool_forget(const struct pool *pool, const char *name);
/* Removes the tokens in claimed/ whose sessions' ends have come, or whose sessions were removed by
 * hand. */
void pool_forget_gone(const struct pool *pool);
/* Notes that somebody wants a session: the fillers of all pools wait. */
void pool_touch(const struct pool *pool);

#endif
