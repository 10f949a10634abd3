/* SPDX-License-Identifier: MIT */
/*
 * The warm pool of a base: files alone, and no daemon. Here is its directory with the tokens, which
 * is as much of a pool as the life of a session has to do with: its end takes its token away, and
 * what waits in a pool is not swept. Records, fillers and claims are built on it (pool.h).
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
 * members renames their tokens to ending/ first: nobody claims those any more, and if it dies, the
 * next process that looks at the pool finishes what it began. A session that has not become a
 * member yet, or whose claimer has not told anybody of it, is marked as unfinished
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

/* The directory, which may have tokens of claimed sessions and no record. ERR_NOT_FOUND. */
int pool_open(const char *state, const char *base, struct pool *out, struct error *err);
/* Made where it is missing, with all that is in it, and locked: nobody else sets, drains or tidies
 * it meanwhile. Waits for who does; ERR_CONFLICT: that took too long. */
int pool_open_locked(const char *state, const char *base, struct pool *out, struct error *err);
/* For one that is open; false: somebody else has it, or it was removed meanwhile. */
bool pool_try_lock(const struct pool *pool);
void pool_close(struct pool *pool); /* accepts POOL_NONE */
#define auto_pool __attribute__((cleanup(pool_close)))
/* The bases whose pools are below state, sorted; [] without any. */
json_t *pool_bases(const char *state, struct error *err);
/* Removes what is empty, unless it is kept or somebody is at work on it. */
void pool_tidy(const struct pool *pool);

/* Held by the process that fills it: whether there is one. */
bool pool_has_filler(const struct pool *pool);

/* --- tokens ---------------------------------------------------------------------------------- */

/* The names in POOL_READY, POOL_CLAIMED or POOL_ENDING, sorted: the oldest first. */
json_t *pool_tokens(const struct pool *pool, const char *kind, struct error *err);
bool pool_has(const struct pool *pool, const char *kind, const char *name);
/* A new one, in ready/. */
int pool_add(const struct pool *pool, const char *name, struct error *err);
/* From ready/ to claimed/; false: somebody else was first. */
bool pool_take(const struct pool *pool, const char *name);
/* From ready/ to ending/: 1. 0: somebody else was first. */
int pool_end(const struct pool *pool, const char *name, struct error *err);
/* All of that name. */
void pool_forget(const struct pool *pool, const char *name);
/* Those in claimed/ whose session has come to the end that it was given, or was removed by hand. */
void pool_forget_gone(const struct pool *pool);
/* Somebody wants a session: the fillers of all pools wait. */
void pool_touch(const struct pool *pool);

#endif
