/* SPDX-License-Identifier: MIT */
/*
 * The quota of a session's disk. The disk is a clone of the base, and shares blocks of the host's
 * disk with it. session.json records how many bytes the clone may have for itself alone, which are
 * the bytes that it shares with no other file. The functions that count tell how many such bytes
 * the clone has now.
 */
#ifndef STORE_QUOTA_H
#define STORE_QUOTA_H

#include <stdint.h>

#include "base/error.h"
#include "store/store.h"

/* The quota that session.json records. */
struct quota {
	/* Bytes by which the disk may grow. 0: the workspace is no session, or the session was made
	 * by a version without quotas. */
	uint64_t bytes;
	/* Bytes that were copied from the base, which are no growth. Only a clone that is a full
	 * copy has such bytes. */
	uint64_t copied;
};
/* Reads the quota. Both numbers are 0 if the workspace is no session. */
int quota_read(const struct workspace *ws, struct quota *out, struct error *err);
/* Returns the part of the counted bytes that is growth: those beyond the copied bytes. */
uint64_t quota_beyond(uint64_t copied, uint64_t counted);
/* Writes the quota into session.json. The caller holds the lease. If nobody holds the lease, the
 * caller holds the command lock instead. ERR_NOT_FOUND: the workspace is no session. */
int quota_write(const struct workspace *ws, uint64_t bytes, struct error *err);

/* A count that is under way. A zeroed count starts at the beginning of the file. */
struct quota_count {
	/* The offset up to which the file was counted, and the bytes before that offset which the
	 * file shares with other files. */
	uint64_t at, shared;
};

/*
 * Counts the allocated bytes that a file shares with no other file. Makes at most `calls` calls of
 * the kernel, each for some hundred extents. Returns 1 if *bytes has the result; the next call then
 * begins a new count. Returns 0 if the count is not complete, and the caller must call again to go
 * on. Returns -1 with an error. The count misses bytes that are written, during the count, to the
 * part of the file that was already counted.
 */
int quota_count(int fd, struct quota_count *count, uint64_t calls, uint64_t *bytes,
		struct error *err);
/* Counts the allocated bytes that a file shares with no other file, all in one call. If the file
 * system can share blocks between files, the time grows with the number of the file's extents.
 * Otherwise the call takes almost no time. */
int quota_grown(int fd, uint64_t *bytes, struct error *err);

#endif
