/* SPDX-License-Identifier: MIT */
/* The parts of a pool that keep its members ready and give them out: its record, its filler,
 * claims, and the ends of members. sessions/tokens.h describes a pool. */
#ifndef SESSION_POOL_H
#define SESSION_POOL_H

#include <sys/types.h>

#include "session/sessions/tokens.h"

/* The reason that is reported for the removal of a member whose machine ended before anybody
 * claimed it. */
#define POOL_MEMBER_ENDED "its machine ended in the pool"

/* Returns the number of waiting members in all pools together. */
size_t pool_count_ready(const struct microagent *agent);

struct pool_record {
	int64_t size, memory_mib, cpus;
	char network[16], backend[24];
};
/* Reads the record of a pool. ERR_NOT_FOUND: there is no record, so no sessions are kept ready. */
int pool_read(const struct pool *pool, struct pool_record *out, struct error *err);
int pool_write(const struct pool *pool, const struct pool_record *record, struct error *err);

/* --- pool_end.c: members that nobody gets ---------------------------------------------------- */

/* Moves the token of a member whose machine has ended to POOL_ENDING, and destroys the member.
 * Returns 1 if this process did both, 0 if another process was first, or -1 with an error. If the
 * other process was first only with the destruction, the token stays in POOL_ENDING. */
int pool_discard(const struct microagent *agent, const struct pool *pool, const char *name,
		 struct error *err);
/* Destroys a member whose token is in POOL_ENDING, and returns when the member is gone. If another
 * process is destroying the member, waits for that process. */
int pool_finish_one(const struct microagent *agent, const struct pool *pool, const char *name,
		    struct error *err);
/* Destroys all members whose tokens are in POOL_ENDING. If the destruction of one member fails, the
 * function still destroys the next ones. */
int pool_finish(const struct microagent *agent, const struct pool *pool, struct error *err);
/* Ends and destroys members until `left` members remain. */
int pool_shrink(const struct microagent *agent, const struct pool *pool, size_t left,
		struct error *err);
/* Removes the record, the filler and the waiting members of a locked pool. */
int pool_drain(const struct microagent *agent, const struct pool *pool, struct error *err);

/* --- pool_claim.c ---------------------------------------------------------------------------- */

/* Returns 1 if the member's machine runs, 0 if it has ended or does not exist, or -1 if this is not
 * known now. */
int pool_member_lives(const struct microagent *agent, const char *name);
/* Checks that a waiting member could get the spec's directories. The check comes before any member
 * is claimed. The errors are the same as for a session that is made with these directories. */
int pool_check_share(const struct microagent *agent, const struct pool *pool,
		     const struct microagent_session_spec *spec, struct error *err);

/* --- pool_ask.c ------------------------------------------------------------------------------ */

struct pool_asked;
struct pool_asking {
	size_t count; /* the number of members that were asked and have not answered */
	struct pool_asked *asked;
	struct pollfd *fds;
};
/* Prepares to ask at most `most` members. */
int pool_asking_begin(struct pool_asking *asking, size_t most, struct error *err);
void pool_asking_end(struct pool_asking *asking); /* accepts a zeroed one */
#define auto_asking __attribute__((cleanup(pool_asking_end)))
/* Sends a request to the member's agent. The answer shows that the agent lives. `name` must stay
 * valid until pool_asking_end(). */
void pool_ask(const struct microagent *agent, struct pool_asking *asking, const char *name);
/* Waits for the next answer, and returns the name of the member that has sent it. Returns NULL if
 * no answer came until the deadline (monotonic), or if no member is left that could answer. */
const char *pool_asking_wait(struct pool_asking *asking, uint64_t deadline_ns);
/* Returns the name of member i (from 0) of the `count` members that have not answered. */
const char *pool_asking_silent(const struct pool_asking *asking, size_t i);

/* Texts in filler.log that pool_status.c looks for. */
#define POOL_FAILED "a member could not be made: "
#define POOL_ENDED "ended: "

/* --- pool_filler.c: the process that fills --------------------------------------------------- */

/* Takes the lock of the filler, and returns its descriptor. The lock is held while the descriptor,
 * or a copy of it in another process, is open. ERR_CONFLICT: another process is the filler. */
int pool_filler_lock(const struct pool *pool, struct error *err);
/* Writes the number of this process into the lock's file, for pool_filler_end(). */
int pool_filler_sign(int lock, struct error *err);
/* Starts a filler in the background, unless the pool has one. */
int pool_filler_start(const struct microagent *agent, const struct pool *pool, struct error *err);
/* Kills the filler, and returns when it has ended. A session that the filler was making stays
 * marked, and sessions_sweep() removes it. */
int pool_filler_end(const struct pool *pool, struct error *err);

/* --- pool_room.c: what the host has left ----------------------------------------------------- */

/* Checks that the host has room for one more member now. ERR_UNAVAILABLE: the host has no room.
 * `members` is the number of members of all pools together. `takes_mib` is the result of
 * pool_member_takes(). */
int pool_room(const struct pool *pool, const struct pool_record *record, size_t members,
	      int64_t takes_mib, struct error *err);
/* Returns the least memory of all members of a pool together, in MiB. */
int64_t pool_mib(const struct pool_record *record);
/* Checks the size of a pool. ERR_INVALID: the pool is too large for this host. `others` is the
 * number of members of other pools, and `others_mib` is the least memory of all these members
 * together. */
int pool_check_size(const struct pool_record *record, size_t others, int64_t others_mib,
		    struct error *err);
/* Returns how many MiB of the host's memory all processes of a waiting member use together and
 * share with no other process, for the member with the largest number. Returns 0 if no member
 * waits, or if the number is not known, as on a Mac. */
int64_t pool_member_takes(const struct microagent *agent, const struct pool *pool);

/* --- linux/pool_idle.c, darwin/pool_idle.c: the filler's priority ----------------------------- */

/* Gives this process the lowest priority, so that it uses processors and disks only when no other
 * process wants them. Sets *raise if its children get this priority too; pool_raise() can then
 * raise it again. */
void pool_go_idle(bool *raise);
/* Gives every process of a session the usual priority again. */
void pool_raise(const struct workspace *ws);

#endif
