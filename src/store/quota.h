/* SPDX-License-Identifier: MIT */
/*
 * The quota of a session's disk: how many bytes of the host's disk the session's clone of the base
 * may use alone, as session.json says, and how many bytes the clone uses alone now.
 */
#ifndef STORE_QUOTA_H
#define STORE_QUOTA_H

#include <stdint.h>

#include "base/error.h"
#include "store/store.h"

/* The quota in session.json, in bytes: how much the disk may grow, and how much of the disk was
 * copied from the base. Copied bytes are no growth. Only a clone that is a full copy has copied
 * bytes. */
struct quota {
	uint64_t bytes; /* 0: the workspace is no session, or the session is older than quotas */
	uint64_t copied;
};
int quota_read(const struct workspace *ws, struct quota *out, struct error *err);
/* Returns the part of a count that is growth. */
uint64_t quota_beyond(uint64_t copied, uint64_t counted);
/* Writes the quota into session.json. The caller holds the lease, or holds the command lock where
 * nobody holds the lease. ERR_NOT_FOUND: the workspace is no session. */
int quota_write(const struct workspace *ws, uint64_t bytes, struct error *err);

/* A count of the bytes that a file shares with other files, which is under way. A zeroed count
 * starts at the beginning of the file. */
struct quota_count {
	uint64_t at, shared; /* bytes */
};

/*
 * Counts the allocated bytes that a file shares with no other file. Makes at most `calls` calls of
 * the kernel, each for some hundred extents. Returns 1 if *bytes has the result and the count
 * begins anew; 0 if the caller must call again to go on; -1 with an error. The count misses what is
 * written meanwhile to the part that was already counted.
 */
int quota_count(int fd, struct quota_count *count, uint64_t calls, uint64_t *bytes,
		struct error *err);
/* Counts the allocated bytes that a file shares with no other file, all in one call. Where the file
 * system shares blocks between files, the time grows with the number of the file's extents.
 * Elsewhere it takes almost no time. */
int quota_grown(int fd, uint64_t *bytes, struct error *err);

#endif
