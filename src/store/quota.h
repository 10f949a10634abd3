/* SPDX-License-Identifier: MIT */
/*
 * The quota of a session's disk: how many bytes of the host's disk its clone of the base may have
 * for itself, as session.json says it, and how many it has.
 */
#ifndef STORE_QUOTA_H
#define STORE_QUOTA_H

#include <stdint.h>

#include "base/error.h"
#include "store/store.h"

/* What session.json says: how much the disk may grow, and how much of it was copied from the base
 * (of a copy alone), which is no growth. In bytes. */
struct quota {
	uint64_t bytes; /* 0: no session's, or one of a time when there were no quotas */
	uint64_t copied;
};
int quota_read(const struct workspace *ws, struct quota *out, struct error *err);
/* What of a count is growth. */
uint64_t quota_beyond(uint64_t copied, uint64_t counted);
/* For who holds the lease, or the command lock where nobody does. ERR_NOT_FOUND: it is no session.
 */
int quota_write(const struct workspace *ws, uint64_t bytes, struct error *err);

/* A count of what a file shares, on its way. Zeroed: from the beginning of the file. */
struct quota_count {
	uint64_t at, shared; /* bytes */
};

/*
 * What a file has allocated and shares with no other, by at most so many calls of the kernel, of
 * some hundred extents each. 1: *bytes is that, and the count begins anew; 0: to be gone on with.
 * What is written meanwhile to the part that was counted is missed.
 */
int quota_count(int fd, struct quota_count *count, uint64_t calls, uint64_t *bytes,
		struct error *err);
/* The same at once. It takes a time that grows with the number of its extents where the file system
 * shares blocks between files, and no time elsewhere. */
int quota_grown(int fd, uint64_t *bytes, struct error *err);

#endif
