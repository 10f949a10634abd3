/* SPDX-License-Identifier: MIT */
/*
 * A ring keeps the output of a resumable exec until the client of the exec has acknowledged it. An
 * offset counts bytes from the first byte of the command's output. A full ring grows. Every ring
 * may grow to LIMIT_RING_BYTES. A ring may grow further, to LIMIT_RING_MOST_BYTES, while the pool
 * has room. The pool counts the bytes that each ring uses above LIMIT_RING_BYTES, and has room for
 * LIMIT_RING_POOL_BYTES.
 */
#ifndef GUEST_RING_H
#define GUEST_RING_H

#include <stddef.h>
#include <stdint.h>

/* Counts the bytes that all rings together use above LIMIT_RING_BYTES for each ring. */
struct ring_pool {
	size_t used;
};

/* A ring. A ring whose members are all 0, except `pool`, is empty. */
struct ring {
	struct ring_pool *pool;
	uint8_t *bytes;
	size_t cap; /* the size of `bytes` in bytes; 0 or a power of two */
	/* The offset of the oldest byte in the ring, and the offset after the newest byte. */
	uint64_t start, end;
};

/* Returns memory into which the caller may write bytes, and sets *room to its length in bytes.
 * Returns NULL if the ring is full, or if there is no memory. */
uint8_t *ring_space(struct ring *ring, size_t *room);
/* Adds the `len` bytes that the caller has written into the memory from ring_space(). */
void ring_commit(struct ring *ring, size_t len);
/* Returns a pointer to the byte at `offset`, which must be from ring->start to ring->end. Sets *len
 * to the number of bytes that follow without a gap in memory. *len is 0 if `offset` is
 * ring->end. */
const uint8_t *ring_at(const struct ring *ring, uint64_t offset, size_t *len);
/* Drops the bytes before `offset`, which must not be above ring->end. Does nothing if these bytes
 * were dropped already. */
void ring_forget(struct ring *ring, uint64_t offset);
void ring_free(struct ring *ring);

#endif
