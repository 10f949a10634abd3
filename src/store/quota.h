/* SPDX-License-Identifier: MIT */
/*
 * The quota of a session's disk. The disk is a clone of the base, with which it shares blocks of
 * the host's disk. The quota counts the bytes that the clone shares with no other file, and
 * session.json records the largest allowed number of these bytes. quota_count() and quota_grown()
 * count them.
 */
#ifndef STORE_QUOTA_H
#define STORE_QUOTA_H

#include <stdint.h>

#include "base/error.h"
#include "store/store.h"

/* The quota that session.json records, with what is needed to check it. */
struct quota {
	/* Number of bytes by which the disk may grow. 0: the workspace is not a session, or a
	 * version of microagent without quotas made the session. */
	uint64_t bytes;
	/* Number of bytes that were copied from the base, which do not count as growth. 0 if the
	 * clone is not a full copy. */
	uint64_t copied;
};
/* Reads the quota from session.json. Both numbers are 0 if the workspace is not a session. */
int quota_read(const struct workspace *ws, struct quota *out, struct error *err);
/* Returns how many of the counted bytes are growth: `counted` minus `copied`, or 0 if this is
 * negative. */
uint64_t quota_beyond(uint64_t copied, uint64_t counted);
/* Writes the quota to session.json. The caller holds the lease, or holds the command lock while no
 * process holds the lease. ERR_NOT_FOUND: the workspace is not a session. */
int quota_write(const struct workspace *ws, uint64_t bytes, struct error *err);

/* The state of an unfinished count. A zeroed struct starts a count at the beginning of the file. */
struct quota_count {
	/* Offset in bytes up to which the file was counted, and the number of bytes before that
	 * offset that the file shares with other files. */
	uint64_t at, shared;
};

/*
 * Counts the allocated bytes that a file shares with no other file. Makes at most `calls` system
 * calls, each for some hundred extents. Returns 1 with the result in *bytes if the count is
 * complete; the next call then begins a new count. Returns 0 if the caller must call this function
 * again to continue the count. Returns -1 with err set on failure. The count misses bytes that are
 * written during the count at an offset that was already counted.
 */
int quota_count(int fd, struct quota_count *count, uint64_t calls, uint64_t *bytes,
		struct error *err);
/* Counts the allocated bytes that a file shares with no other file, in one call. If the file system
 * can share blocks between files, the time depends on the number of the file's extents. Otherwise
 * the call takes almost no time. */
int quota_grown(int fd, uint64_t *bytes, struct error *err);

#endif
