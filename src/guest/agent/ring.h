/* SPDX-License-Identifier: MIT */
/*
 * The output of a resumable exec that its client has not acknowledged, in offsets from the first
 * byte that the command wrote. It grows as it fills: up to LIMIT_RING_BYTES always, from there to
 * LIMIT_RING_MOST_BYTES as long as all rings together stay within LIMIT_RING_POOL_BYTES above that.
 */
#ifndef GUEST_RING_H
#define GUEST_RING_H

#include <stddef.h>
#include <stdint.h>

/* What all rings have taken beyond the room that each is sure of. */
struct ring_pool {
	size_t used;
};

/* All zero but for the pool: empty. */
struct ring {
	struct ring_pool *pool;
	uint8_t *bytes;
	size_t cap;	     /* 0 or a power of two */
	uint64_t start, end; /* offsets: the oldest byte that is kept, and behind the newest */
};

/* Where bytes may be put now and how many; NULL: it is full, or there is no memory. */
uint8_t *ring_space(struct ring *ring, size_t *room);
/* len bytes were put there. */
void ring_commit(struct ring *ring, size_t len);
/* What lies in one piece from offset (start <= offset <= end) on; *len is 0 at the end. */
const uint8_t *ring_at(const struct ring *ring, uint64_t offset, size_t *len);
/* Forgets what is before offset (<= end); nothing if that is gone already. */
void ring_forget(struct ring *ring, uint64_t offset);
void ring_free(struct ring *ring);

#endif
