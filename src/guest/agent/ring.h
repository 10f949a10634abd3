/* SPDX-License-Identifier: MIT */
/*
 * A ring keeps the output of a resumable exec until the client of the exec has acknowledged it. An
 * offset counts from the command's first byte of output. A full ring grows. Every ring may grow to
 * LIMIT_RING_BYTES. It may grow further, to LIMIT_RING_MOST_BYTES, as long as the pool has room.
 * The pool counts the bytes that all rings use beyond their LIMIT_RING_BYTES, and has room for
 * LIMIT_RING_POOL_BYTES.
 */
#ifndef GUEST_RING_H
#define GUEST_RING_H

#include <stddef.h>
#include <stdint.h>

/* The memory that all rings together use beyond their LIMIT_RING_BYTES, in bytes. */
struct ring_pool {
	size_t used;
};

/* A ring. A ring whose members are all 0, except `pool`, is empty. */
struct ring {
	struct ring_pool *pool;
	uint8_t *bytes;
	size_t cap; /* the size of `bytes`; 0 or a power of two */
	/* start: the offset of the oldest byte that is kept; end: the offset after the newest
	 * byte. */
	uint64_t start, end;
};

/* Returns memory into which the caller may put bytes now, and sets *room to its length. Returns
 * NULL if the ring is full, or if there is no memory. */
uint8_t *ring_space(struct ring *ring, size_t *room);
/* Adds `len` bytes, which the caller has put into the memory from ring_space(). */
void ring_commit(struct ring *ring, size_t len);
/* Returns the bytes from `offset` on that lie in one piece (start <= offset <= end), and sets *len
 * to their number. *len is 0 if `offset` is the end. */
const uint8_t *ring_at(const struct ring *ring, uint64_t offset, size_t *len);
/* Drops the bytes before `offset`, which is at most ring->end. Does nothing if these bytes were
 * dropped already. */
void ring_forget(struct ring *ring, uint64_t offset);
void ring_free(struct ring *ring);

#endif
