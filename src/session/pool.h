/* SPDX-License-Identifier: MIT */
/*
 * The warm pool of a base: files alone, and no daemon.
 *
 *   <state>/pool/<base>/pool.json    how many sessions are kept ready, and of what kind; gone: none
 *                       ready/       a token for each that nobody has: an empty file of its name
 *                       claimed/     and for each that somebody has
 *                       filler.lock  held by the process that fills it, while there is one
 *                       filler.log   what that process has to say
 *
 * Members are ordinary sessions and never move. Whoever renames a token from ready/ to claimed/ has the
 * session; two renames of one token cannot both succeed. A session that has not become a member yet,
 * or whose claimer has not told anybody of it, is marked as in the making (api/making.c): when its
 * process dies, the next sweep removes it.
 */
#ifndef SESSION_POOL_H
#define SESSION_POOL_H

#include <sys/types.h>

#include "session/base.h"

#define POOL_DIR "pool"
#define POOL_RECORD "pool.json"
#define POOL_READY "ready"
#define POOL_CLAIMED "claimed"
#define POOL_LOCK "filler.lock"
#define POOL_LOG "filler.log"
/* Why a member is removed. */
#define POOL_MEMBER_ENDED "its machine ended in the pool"

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
/* Made where it is missing, with all that is in it, and locked: nobody else sets, drains or tidies it
 * meanwhile. ERR_CONFLICT. */
int pool_open_locked(const char *state, const char *base, struct pool *out, struct error *err);
void pool_close(struct pool *pool); /* accepts POOL_NONE */
#define auto_pool __attribute__((cleanup(pool_close)))
/* The bases whose pools are below state, sorted; [] without any. */
json_t *pool_bases(const char *state, struct error *err);
/* Removes what is empty, unless it is kept or somebody is at work on it. */
void pool_tidy(const struct pool *pool);

struct pool_record {
	int64_t size, memory_mib, cpus;
	char network[16];
};
/* ERR_NOT_FOUND: no sessions are kept ready. */
int pool_read(const struct pool *pool, struct pool_record *out, struct error *err);
int pool_write(const struct pool *pool, const struct pool_record *record, struct error *err);

/* ---- tokens ---------------------------------------------------------------------------------- */

/* The names in POOL_READY or POOL_CLAIMED, sorted: the oldest first. */
json_t *pool_tokens(const struct pool *pool, const char *kind, struct error *err);
bool pool_has(const struct pool *pool, const char *kind, const char *name);
/* A new one, in ready/. */
int pool_add(const struct pool *pool, const char *name, struct error *err);
/* From ready/ to claimed/; false: somebody else was first. */
bool pool_take(const struct pool *pool, const char *name);
/* Both of that name. */
void pool_forget(const struct pool *pool, const char *name);
/* Somebody wants a session: the filler waits. */
void pool_touch(const struct pool *pool);
/* Takes one token after the other until left are there, and destroys their sessions. */
int pool_shrink(const struct microagent *agent, const struct pool *pool, size_t left,
		struct error *err);

/* ---- pool_claim.c ----------------------------------------------------------------------------- */

/* 1: *out is a member that fits, marked as in the making until session_made(). 0: there is none. */
int pool_claim(const struct microagent *agent, const struct base *base,
	       const struct microagent_session_spec *spec, struct microagent_session **out,
	       struct error *err);
/* That its machine runs. */
bool pool_member_lives(const struct microagent *agent, const char *name);

/* ---- pool_filler.c: the process that fills ---------------------------------------------------- */

bool pool_filler(const struct pool *pool);
/* Makes this process the filler for as long as the returned descriptor, or a copy that another process
 * was given, is open. ERR_CONFLICT: another one is. */
int pool_filler_lock(const struct pool *pool, struct error *err);
/* Who has it now, for pool_filler_end(). */
int pool_filler_sign(int lock, struct error *err);
/* Starts one in the background, unless there is one. */
int pool_filler_start(const struct microagent *agent, const struct pool *pool, struct error *err);
/* Kills it, and returns when it is gone. What it was making is left marked, for sessions_sweep(). */
int pool_filler_end(const struct pool *pool, struct error *err);

/* ---- pool_room.c: what the host has left ------------------------------------------------------ */

/* ERR_UNAVAILABLE: there is no room for one more member now. members: of all pools together. */
int pool_room(const struct pool_record *record, size_t members, struct error *err);
/* ERR_INVALID for a pool that this host could never fill, others of that many members being there. */
int pool_check_size(const struct pool_record *record, size_t others, struct error *err);

/* ---- pool_idle.c: the filler's priority -------------------------------------------------------- */

/* This process gets processors and disks that nobody else wants. Its children too, if their priority
 * can be raised again later; *raise says so. */
void pool_go_idle(bool *raise);
/* Every process of a session runs like any other again. */
void pool_raise(const struct workspace *ws);

#endif
