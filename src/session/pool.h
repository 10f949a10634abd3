/* SPDX-License-Identifier: MIT */
/*
 * The warm pool of a base: files alone, and no daemon.
 *
 *   <state>/pool/<base>/pool.json    how many sessions are kept ready, and of what kind; gone: none
 *                       ready/       a token for each that nobody has: an empty file of its name
 *                       claimed/     for each that somebody has
 *                       ending/      and for each that is being destroyed
 *                       filler.lock  held by the process that fills it, while there is one
 *                       filler.log   what that process has to say
 *
 * Members are ordinary sessions and never move. Whoever renames a token from ready/ to claimed/ has
 * the session; two renames of one token cannot both succeed. Whoever destroys members renames their
 * tokens to ending/ first: nobody claims those any more, and if their destroyer dies, whoever comes
 * by next finishes what it began. A session that has not become a member yet, or whose claimer has
 * not told anybody of it, is marked as in the making (api/making.c): when its process dies, the
 * next sweep removes it.
 */
#ifndef SESSION_POOL_H
#define SESSION_POOL_H

#include <sys/types.h>

#include "session/base.h"

#define POOL_DIR "pool"
#define POOL_RECORD "pool.json"
#define POOL_READY "ready"
#define POOL_CLAIMED "claimed"
#define POOL_ENDING "ending"
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
/* Made where it is missing, with all that is in it, and locked: nobody else sets, drains or tidies
 * it meanwhile. Waits for who does; ERR_CONFLICT: that took too long. */
int pool_open_locked(const char *state, const char *base, struct pool *out, struct error *err);
/* For one that is open; false: somebody else has it, or it was removed meanwhile. */
bool pool_try_lock(const struct pool *pool);
void pool_close(struct pool *pool); /* accepts POOL_NONE */
#define auto_pool __attribute__((cleanup(pool_close)))
/* The bases whose pools are below state, sorted; [] without any. */
json_t *pool_bases(const char *state, struct error *err);
/* Members that wait, in all pools together. */
size_t pool_count_ready(const struct microagent *agent);
/* Removes what is empty, unless it is kept or somebody is at work on it. */
void pool_tidy(const struct pool *pool);

struct pool_record {
	int64_t size, memory_mib, cpus;
	char network[16];
};
/* ERR_NOT_FOUND: no sessions are kept ready. */
int pool_read(const struct pool *pool, struct pool_record *out, struct error *err);
int pool_write(const struct pool *pool, const struct pool_record *record, struct error *err);

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
/* Somebody wants a session: the fillers of all pools wait. */
void pool_touch(const struct pool *pool);

/* --- pool_end.c: members that nobody gets ---------------------------------------------------- */

/* Ends a member whose machine has ended, and destroys it: 1. 0: somebody else was first; if he was
 * so with its destruction alone, it stays in POOL_ENDING. */
int pool_discard(const struct microagent *agent, const struct pool *pool, const char *name,
		 struct error *err);
/* Destroys one that is ending, and returns when it is gone; who else is at it is waited for. */
int pool_finish_one(const struct microagent *agent, const struct pool *pool, const char *name,
		    struct error *err);
/* The same of all of them. On failure those that can be are gone. */
int pool_finish(const struct microagent *agent, const struct pool *pool, struct error *err);
/* Ends members until left are there, and destroys them. */
int pool_shrink(const struct microagent *agent, const struct pool *pool, size_t left,
		struct error *err);
/* Of a locked pool: its record, its filler and its waiting members go. */
int pool_drain(const struct microagent *agent, const struct pool *pool, struct error *err);

/* --- pool_claim.c ---------------------------------------------------------------------------- */

/* 1: *out is a member that fits, marked as in the making until session_made(). 0: there is none. */
int pool_claim(const struct microagent *agent, const struct base *base,
	       const struct microagent_session_spec *spec, struct microagent_session **out,
	       struct error *err);
/* 1: its machine runs. 0: it has ended, or there is none. -1: that cannot be seen now. */
int pool_member_lives(const struct microagent *agent, const char *name);

/* --- pool_share.c ---------------------------------------------------------------------------- */

/* Whether one of the waiting members could have the spec's directory, with the errors of a session
 * that is made with it: what is refused is refused before anything is claimed. */
int pool_check_share(const struct microagent *agent, const struct pool *pool,
		     const struct microagent_session_spec *spec, struct error *err);

/* What filler.log says, which pool_status.c looks for. */
#define POOL_FAILED "a member could not be made: "
#define POOL_ENDED "ended: "

/* --- pool_filler.c: the process that fills --------------------------------------------------- */

bool pool_filler(const struct pool *pool);
/* Makes this process the filler for as long as the returned descriptor, or a copy that another
 * process was given, is open. ERR_CONFLICT: another one is. */
int pool_filler_lock(const struct pool *pool, struct error *err);
/* Who has it now, for pool_filler_end(). */
int pool_filler_sign(int lock, struct error *err);
/* Starts one in the background, unless there is one. */
int pool_filler_start(const struct microagent *agent, const struct pool *pool, struct error *err);
/* Kills it, and returns when it is gone. What it was making is left marked, for sessions_sweep().
 */
int pool_filler_end(const struct pool *pool, struct error *err);

/* --- pool_room.c: what the host has left ----------------------------------------------------- */

/* ERR_UNAVAILABLE: there is no room for one more member now. members: of all pools together. */
int pool_room(const struct pool *pool, const struct pool_record *record, size_t members,
	      struct error *err);
/* What the members of a pool come to. */
int64_t pool_mib(const struct pool_record *record);
/* ERR_INVALID for a pool that this host could never fill, others being that many members of so much
 * memory. */
int pool_check_size(const struct pool_record *record, size_t others, int64_t others_mib,
		    struct error *err);

/* --- pool_idle.c: the filler's priority ------------------------------------------------------ */

/* This process gets processors and disks that nobody else wants. Its children too, if their
 * priority can be raised again later; *raise says so. */
void pool_go_idle(bool *raise);
/* Every process of a session runs like any other again. */
void pool_raise(const struct workspace *ws);

#endif
