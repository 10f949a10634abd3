/* SPDX-License-Identifier: MIT */
#include "guest/agent/ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

#define SMALLEST ((size_t)4096)

/* Returns how many bytes of the pool a ring with a size of `cap` bytes uses. */
static size_t pooled(size_t cap)
{
	size_t sure = (size_t)limit_get(LIMIT_RING_BYTES);

	return cap > sure ? cap - sure : 0;
}

static int may_grow(const struct ring *ring, size_t cap)
{
	size_t others = ring->pool->used - pooled(ring->cap);

	if (cap <= SMALLEST)
		return 1;
	if (cap > limit_get(LIMIT_RING_MOST_BYTES))
		return 0;
	return pooled(cap) == 0 || others + pooled(cap) <= limit_get(LIMIT_RING_POOL_BYTES);
}

/* Makes the ring larger, if the limits and the memory allow it. The position of a byte in the ring
 * is its offset modulo the ring's size, so all bytes are copied to new positions. */
static void ring_grow(struct ring *ring)
{
	size_t cap = ring->cap ? ring->cap * 2 : SMALLEST, len;
	uint8_t *bytes = may_grow(ring, cap) ? malloc(cap) : NULL;

	if (!bytes)
		return;
	for (uint64_t at = ring->start; at < ring->end; at += len) {
		const uint8_t *from = ring_at(ring, at, &len);
		size_t to = (size_t)at & (cap - 1);

		if (len > cap - to)
			len = cap - to;
		memcpy(bytes + to, from, len);
	}
	ring->pool->used += pooled(cap) - pooled(ring->cap);
	free(ring->bytes);
	ring->bytes = bytes;
	ring->cap = cap;
}

uint8_t *ring_space(struct ring *ring, size_t *room)
{
	size_t kept = (size_t)(ring->end - ring->start), at, left;

	if (kept >= ring->cap / 2)
		ring_grow(ring);
	if (kept == ring->cap)
		return NULL;
	at = (size_t)ring->end & (ring->cap - 1);
	left = ring->cap - kept;
	*room = ring->cap - at < left ? ring->cap - at : left;
	return ring->bytes + at;
}

void ring_commit(struct ring *ring, size_t len)
{
	ring->end += len;
}

const uint8_t *ring_at(const struct ring *ring, uint64_t offset, size_t *len)
{
	size_t left = (size_t)(ring->end - offset), at;

	*len = 0;
	if (left == 0)
		return NULL;
	at = (size_t)offset & (ring->cap - 1);
	*len = ring->cap - at < left ? ring->cap - at : left;
	return ring->bytes + at;
}

void ring_forget(struct ring *ring, uint64_t offset)
{
	if (offset > ring->start)
		ring->start = offset;
}

void ring_free(struct ring *ring)
{
	ring->pool->used -= pooled(ring->cap);
	free(ring->bytes);
	*ring = (struct ring){.pool = ring->pool};
}
