/* SPDX-License-Identifier: MIT */
/* What keeps a pool and gives out of it: its record, its filler, and the ends of its members. */
#ifndef SESSION_POOL_H
#define SESSION_POOL_H

#include <sys/types.h>

#include "session/sessions/tokens.h"

/* Why a member is removed. */
#define POOL_MEMBER_ENDED "its machine ended in the pool"

/* Members that wait, in all pools together. */
size_t pool_count_ready(const struct microagent *agent);

struct pool_record {
	int64_t size, memory_mib, cpus;
	char network[16], backend[24];
};
/* ERR_NOT_FOUND: no sessions are kept ready. */
int pool_read(const struct pool *pool, struct pool_record *out, struct error *err);
int pool_write(const struct pool *pool, const struct pool_record *record, struct error *err);

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

/* 1: its machine runs. 0: it has ended, or there is none. -1: that cannot be seen now. */
int pool_member_lives(const struct microagent *agent, const char *name);
/* Whether one of the waiting members could have the spec's directory, with the errors of a session
 * that is made with it: what is refused is refused before anything is claimed. */
int pool_check_share(const struct microagent *agent, const struct pool *pool,
		     const struct microagent_session_spec *spec, struct error *err);

/* --- pool_ask.c ------------------------------------------------------------------------------ */

struct pool_asked;
struct pool_asking {
	size_t count; /* asked, and silent yet */
	struct pool_asked *asked;
	struct pollfd *fds;
};
/* most: so many are asked, at most. */
int pool_asking_begin(struct pool_asking *asking, size_t most, struct error *err);
void pool_asking_end(struct pool_asking *asking); /* accepts a zeroed one */
#define auto_asking __attribute__((cleanup(pool_asking_end)))
/* The member's agent is asked for a word. name is borrowed. */
void pool_ask(const struct microagent *agent, struct pool_asking *asking, const char *name);
/* The next one that has answered, which is not waited for any more; NULL: none has until then, or
 * none is left that could. */
const char *pool_asking_wait(struct pool_asking *asking, uint64_t deadline_ns);
/* The i-th of the count that were asked and have not answered. */
const char *pool_asking_silent(const struct pool_asking *asking, size_t i);

/* What filler.log says, which pool_status.c looks for. */
#define POOL_FAILED "a member could not be made: "
#define POOL_ENDED "ended: "

/* --- pool_filler.c: the process that fills --------------------------------------------------- */

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

/* ERR_UNAVAILABLE: there is no room for one more member now. members: of all pools together;
 * takes_mib: pool_member_takes(). */
int pool_room(const struct pool *pool, const struct pool_record *record, size_t members,
	      int64_t takes_mib, struct error *err);
/* What the members of a pool come to at least. */
int64_t pool_mib(const struct pool_record *record);
/* ERR_INVALID for a pool that this host could never fill, others being that many members of at
 * least so much memory. */
int pool_check_size(const struct pool_record *record, size_t others, int64_t others_mib,
		    struct error *err);
/* What the largest waiting member has of the host's memory alone, all its processes together, in
 * MiB. 0: none waits, or it is not to be seen, as on a Mac. */
int64_t pool_member_takes(const struct microagent *agent, const struct pool *pool);

/* --- linux/pool_idle.c, darwin/pool_idle.c: the filler's priority ----------------------------- */

/* This process gets processors and disks that nobody else wants. Its children too, if their
 * priority can be raised again later; *raise says so. */
void pool_go_idle(bool *raise);
/* Every process of a session runs like any other again. */
void pool_raise(const struct workspace *ws);

#endif
