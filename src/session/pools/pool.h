/* SPDX-License-Identifier: MIT */
/* The code that keeps members of a pool ready and gives them to users: the pool's record, its
 * filler, claims, and the ends of members. sessions/tokens.h describes what a pool is. */
#ifndef SESSION_POOL_H
#define SESSION_POOL_H

#include <sys/types.h>

#include "session/sessions/tokens.h"

/* The reported reason for removing a member whose machine ended before anybody claimed the
 * member. */
#define POOL_MEMBER_ENDED "its machine ended in the pool"

/* Returns the number of waiting members in all pools together. */
size_t pool_count_ready(const struct microagent *agent);

struct pool_record {
	int64_t size, memory_mib, cpus;
	char network[16], backend[24];
};
/* Reads the record of a pool. ERR_NOT_FOUND: the pool has no record, so no sessions are kept
 * ready. */
int pool_read(const struct pool *pool, struct pool_record *out, struct error *err);
int pool_write(const struct pool *pool, const struct pool_record *record, struct error *err);

/* --- pool_end.c: members that nobody has claimed --------------------------------------------- */

/* Moves the token of a member whose machine has ended to POOL_ENDING, and destroys the member.
 * Returns 1 if this process has moved the token and destroyed the member, 0 if another process has
 * moved the token or destroys the member, or -1 with err set. If another process is destroying the
 * member, the token stays in POOL_ENDING. */
int pool_discard(const struct microagent *agent, const struct pool *pool, const char *name,
		 struct error *err);
/* Destroys a member whose token is in POOL_ENDING. Returns when the member is gone. If another
 * process is already destroying the member, waits for that process. */
int pool_finish_one(const struct microagent *agent, const struct pool *pool, const char *name,
		    struct error *err);
/* Destroys all members whose tokens are in POOL_ENDING. If a member cannot be destroyed, continues
 * with the next member, and fails at the end. */
int pool_finish(const struct microagent *agent, const struct pool *pool, struct error *err);
/* Destroys waiting members until at most `left` members remain. */
int pool_shrink(const struct microagent *agent, const struct pool *pool, size_t left,
		struct error *err);
/* Removes the record, the filler and the waiting members of a locked pool. */
int pool_drain(const struct microagent *agent, const struct pool *pool, struct error *err);

/* --- pool_claim.c ---------------------------------------------------------------------------- */

/* Returns 1 if the member's machine runs, 0 if the machine has ended or the member does not exist,
 * or -1 if the state is unknown. */
int pool_member_lives(const struct microagent *agent, const char *name);
/* Checks that a waiting member could be given the directories in the spec. Claims no member. The
 * errors are those that would come if a session with these directories was made. */
int pool_check_share(const struct microagent *agent, const struct pool *pool,
		     const struct microagent_session_spec *spec, struct error *err);

/* --- pool_ask.c ------------------------------------------------------------------------------ */

struct pool_asked;
struct pool_asking {
	size_t count; /* number of members that were asked and have not answered yet */
	struct pool_asked *asked;
	struct pollfd *fds;
};
/* Prepares a list of asked members, which can have at most `most` members. */
int pool_asking_begin(struct pool_asking *asking, size_t most, struct error *err);
void pool_asking_end(struct pool_asking *asking); /* accepts a zeroed one */
#define auto_asking __attribute__((cleanup(pool_asking_end)))
/* Sends a request to the member's agent. An answer will show that the agent works. If
 * LIMIT_POOL_ANSWER_MS is 0, sends nothing, and the member counts as one that has answered. `name`
 * must stay valid until pool_asking_end(). */
void pool_ask(const struct microagent *agent, struct pool_asking *asking, const char *name);
/* Waits for the next answer, and returns the name of the member that sent it. Returns NULL if no
 * answer comes before the deadline (monotonic time in nanoseconds), or if no answer can come any
 * more. */
const char *pool_asking_wait(struct pool_asking *asking, uint64_t deadline_ns);
/* Returns the name of a member that has not answered. `i` is the member's index in `asking`, from 0
 * to asking->count - 1. */
const char *pool_asking_silent(const struct pool_asking *asking, size_t i);

/* Texts in filler.log, which pool_status.c searches for. */
#define POOL_FAILED "a member could not be made: "
#define POOL_ENDED "ended: "

/* --- pool_filler.c: the process that fills a pool -------------------------------------------- */

/* Takes the filler's lock of the pool, and returns the descriptor of the lock. The lock is held as
 * long as the descriptor, or a copy of it in another process, is open. ERR_CONFLICT: another
 * process is the filler. */
int pool_filler_lock(const struct pool *pool, struct error *err);
/* Writes the pid of this process into the lock file, where pool_filler_end() reads it. */
int pool_filler_sign(int lock, struct error *err);
/* Starts a filler in the background if the pool has none. */
int pool_filler_start(const struct microagent *agent, const struct pool *pool, struct error *err);
/* Kills the filler, and returns when the filler's process has exited. A session that the filler was
 * making stays marked as unfinished, and sessions_sweep() removes the session. */
int pool_filler_end(const struct pool *pool, struct error *err);

/* --- pool_room.c: room on the host for members ----------------------------------------------- */

/* Checks that the host now has enough memory and disk space for one more member, and that the
 * host's processors allow one more member. ERR_UNAVAILABLE: there is no room. `members` is the
 * number of members of all pools together. `takes_mib` is the result of pool_member_takes(). */
int pool_room(const struct pool *pool, const struct pool_record *record, size_t members,
	      int64_t takes_mib, struct error *err);
/* Returns the least amount of memory in MiB that all members of a pool together need. */
int64_t pool_mib(const struct pool_record *record);
/* Checks the size of a pool. ERR_INVALID: the pool is too large for this host. `others` is the
 * number of members of all other pools together, and `others_mib` is the sum of pool_mib() of these
 * pools. */
int pool_check_size(const struct pool_record *record, size_t others, int64_t others_mib,
		    struct error *err);
/* Returns how much of the host's memory a waiting member uses, in MiB: the number of the member
 * that uses the most. Counts the memory of all processes of a member, but not memory that is shared
 * with processes outside the member. Returns 0 if no member waits, or if the number is unknown (on
 * macOS it is always unknown). */
int64_t pool_member_takes(const struct microagent *agent, const struct pool *pool);

/* --- linux/pool_idle.c, darwin/pool_idle.c: the filler's priority ----------------------------- */

/* Gives this process the lowest priority, with which it uses processors and disks only when no
 * other process wants them. Sets *raise to true if the children of this process get this priority
 * too. In that case, pool_raise() must later give them the usual priority. */
void pool_go_idle(bool *raise);
/* Gives every process of a session the usual priority. Used for a session that was started after
 * pool_go_idle() has set *raise. */
void pool_raise(const struct workspace *ws);

#endif
