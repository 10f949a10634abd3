/* SPDX-License-Identifier: MIT */
/* The parts that keep a pool and give out its members: its record, its filler, and the ends of its
 * members. */
#ifndef SESSION_POOL_H
#define SESSION_POOL_H

#include <sys/types.h>

#include "session/sessions/tokens.h"

/* The reason for which a member is removed. */
#define POOL_MEMBER_ENDED "its machine ended in the pool"

/* Returns the number of waiting members in all pools together. */
size_t pool_count_ready(const struct microagent *agent);

struct pool_record {
	int64_t size, memory_mib, cpus;
	char network[16], backend[24];
};
/* Reads the record of a pool. ERR_NOT_FOUND: no sessions are kept ready. */
int pool_read(const struct pool *pool, struct pool_record *out, struct error *err);
int pool_write(const struct pool *pool, const struct pool_record *record, struct error *err);

/* --- pool_end.c: members that nobody gets ---------------------------------------------------- */

/* Ends a member whose machine has ended, and destroys it. Returns 1 if it did, 0 if another process
 * was first; -1 with an error. If the other process was first only with the destruction, the member
 * stays in POOL_ENDING. */
int pool_discard(const struct microagent *agent, const struct pool *pool, const char *name,
		 struct error *err);
/* Destroys a member that is ending, and returns when it is gone. Waits for another process that is
 * destroying the member. */
int pool_finish_one(const struct microagent *agent, const struct pool *pool, const char *name,
		    struct error *err);
/* Destroys all members that are ending. If it fails, the members that can be destroyed are gone. */
int pool_finish(const struct microagent *agent, const struct pool *pool, struct error *err);
/* Ends and destroys members until `left` members remain. */
int pool_shrink(const struct microagent *agent, const struct pool *pool, size_t left,
		struct error *err);
/* Removes the record, the filler and the waiting members of a locked pool. */
int pool_drain(const struct microagent *agent, const struct pool *pool, struct error *err);

/* --- pool_claim.c ---------------------------------------------------------------------------- */

/* Returns 1 if the member's machine runs, 0 if it has ended or does not exist; -1 if this cannot be
 * seen now. */
int pool_member_lives(const struct microagent *agent, const char *name);
/* Checks whether one of the waiting members could have the spec's directory. The errors are those
 * of a session that is made with it, so a request is refused before any member is claimed. */
int pool_check_share(const struct microagent *agent, const struct pool *pool,
		     const struct microagent_session_spec *spec, struct error *err);

/* --- pool_ask.c ------------------------------------------------------------------------------ */

struct pool_asked;
struct pool_asking {
	size_t count; /* members that were asked and have not answered */
	struct pool_asked *asked;
	struct pollfd *fds;
};
/* Prepares to ask at most `most` members. */
int pool_asking_begin(struct pool_asking *asking, size_t most, struct error *err);
void pool_asking_end(struct pool_asking *asking); /* accepts a zeroed one */
#define auto_asking __attribute__((cleanup(pool_asking_end)))
/* Asks the member's agent for a sign of life. name is borrowed. */
void pool_ask(const struct microagent *agent, struct pool_asking *asking, const char *name);
/* Returns the next member that has answered, and stops waiting for that member. Returns NULL if
 * none has answered until the deadline, or if no member is left that could. */
const char *pool_asking_wait(struct pool_asking *asking, uint64_t deadline_ns);
/* Returns the i-th of the `count` members that were asked and have not answered. */
const char *pool_asking_silent(const struct pool_asking *asking, size_t i);

/* Texts in filler.log that pool_status.c looks for. */
#define POOL_FAILED "a member could not be made: "
#define POOL_ENDED "ended: "

/* --- pool_filler.c: the process that fills --------------------------------------------------- */

/* Makes this process the filler while the returned descriptor, or a copy of it in another process,
 * is open. ERR_CONFLICT: another process is the filler. */
int pool_filler_lock(const struct pool *pool, struct error *err);
/* Writes which process has the lock now, for pool_filler_end(). */
int pool_filler_sign(int lock, struct error *err);
/* Starts a filler in the background, unless the pool has one. */
int pool_filler_start(const struct microagent *agent, const struct pool *pool, struct error *err);
/* Kills the filler, and returns when it is gone. A session that it was making stays marked for
 * sessions_sweep(). */
int pool_filler_end(const struct pool *pool, struct error *err);

/* --- pool_room.c: what the host has left ----------------------------------------------------- */

/* Checks that the host has room for one more member now; ERR_UNAVAILABLE if not. members is the
 * number of members of all pools together. takes_mib is the result of pool_member_takes(). */
int pool_room(const struct pool *pool, const struct pool_record *record, size_t members,
	      int64_t takes_mib, struct error *err);
/* Returns the least memory of all members of a pool together, in MiB. */
int64_t pool_mib(const struct pool_record *record);
/* Checks the size of a pool. ERR_INVALID: this host could never fill the pool. `others` is the
 * number of members of other pools, and others_mib is the least memory of these members. */
int pool_check_size(const struct pool_record *record, size_t others, int64_t others_mib,
		    struct error *err);
/* Returns the memory of the host, in MiB, that the largest waiting member uses alone with all its
 * processes together. Returns 0 if no member waits, or if the memory cannot be seen, as on a Mac.
 */
int64_t pool_member_takes(const struct microagent *agent, const struct pool *pool);

/* --- linux/pool_idle.c, darwin/pool_idle.c: the filler's priority ----------------------------- */

/* Makes this process use processors and disks only when nobody else wants them. This applies to its
 * children too if their priority can be raised again later; *raise says so. */
void pool_go_idle(bool *raise);
/* Gives every process of a session the usual priority again. */
void pool_raise(const struct workspace *ws);

#endif
