/* SPDX-License-Identifier: MIT */
#include "netgate/bucket.h"

#include "base/clock.h"

#define US_PER_SECOND UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)
/* The least size of a bucket, in bytes. A bucket has room for several whole frames, even if the
 * limit is low. */
#define BUCKET_LEAST 16384

static uint64_t bucket_room(const struct bucket *b)
{
	return b->per_second / 10 > BUCKET_LEAST ? b->per_second / 10 : BUCKET_LEAST;
}

uint64_t bucket_fill(struct bucket *b, uint64_t now)
{
	uint64_t room = bucket_room(b), us = (now - b->filled) / NS_PER_US;

	if (!b->per_second)
		return UINT64_MAX;
	if (!b->filled || us >= room * US_PER_SECOND / b->per_second) {
		b->bytes = room;
		b->parts = 0;
		b->filled = now;
		return room;
	}
	b->parts += us * b->per_second;
	b->bytes += b->parts / US_PER_SECOND;
	b->parts %= US_PER_SECOND;
	b->filled += us * NS_PER_US;
	if (b->bytes > room)
		b->bytes = room;
	return b->bytes;
}

void bucket_take(struct bucket *b, uint64_t bytes)
{
	if (b->per_second)
		b->bytes -= bytes;
}

/* A lane goes on when the bucket is a quarter full. If the lane went on at each byte, netgate would
 * wake up too often. */
uint64_t bucket_wait(const struct bucket *b)
{
	uint64_t enough = bucket_room(b) / 4;

	if (!b->per_second || b->bytes >= enough)
		return 0;
	return (enough - b->bytes) * US_PER_SECOND / b->per_second * NS_PER_US + NS_PER_US;
}
