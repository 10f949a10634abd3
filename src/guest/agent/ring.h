/* SPDX-License-Identifier: MIT */
/*
 * The output of a resumable exec that its client has not acknowledged, addressed by offsets from
 * the command's first byte of output. A ring grows as it fills. It may always grow to
 * LIMIT_RING_BYTES. It may grow to LIMIT_RING_MOST_BYTES as long as all rings together stay within
 * LIMIT_RING_POOL_BYTES above that.
 */
#ifndef GUEST_RING_H
#define GUEST_RING_H

#include <stddef.h>
#include <stdint.h>

/* What all rings have taken beyond their guaranteed room, in bytes. */
struct ring_pool {
	size_t used;
};

/* A ring. All zero except for the pool means empty. */
struct ring {
	struct ring_pool *pool;
	uint8_t *bytes;
	size_t cap;	     /* bytes; 0 or a power of two */
	uint64_t start, end; /* offsets: of the oldest kept byte, and after the newest */
};

/* Returns where bytes may be put now, and in *room how many; NULL if the ring is full or without
 * memory. */
uint8_t *ring_space(struct ring *ring, size_t *room);
/* Adds len bytes that were put there. */
void ring_commit(struct ring *ring, size_t len);
/* Returns the bytes that lie in one piece from offset on (start <= offset <= end); *len is 0 at the
 * end. */
const uint8_t *ring_at(const struct ring *ring, uint64_t offset, size_t *len);
/* Drops what is before offset (<= end). Does nothing if that was dropped already. */
void ring_forget(struct ring *ring, uint64_t offset);
void ring_free(struct ring *ring);

#endif
