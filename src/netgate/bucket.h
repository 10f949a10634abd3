/* SPDX-License-Identifier: MIT */
/*
 * A limit on the bytes per second in one direction. It is a bucket, which is filled as time passes,
 * and from which the bytes that pass are taken. The bucket holds at most the bytes of a tenth of a
 * second (but at least 16 KiB). So a guest that was quiet for long cannot send more than this at
 * once.
 */
#ifndef NETGATE_BUCKET_H
#define NETGATE_BUCKET_H

#include <stdint.h>

#define BUCKET_RATE_MAX UINT64_C(1000000000000)

struct bucket {
	uint64_t per_second; /* bytes per second, at most BUCKET_RATE_MAX; 0: no limit */
	uint64_t bytes;	     /* bytes in the bucket */
	uint64_t parts;	     /* millionths of a further byte */
	/* Time in ns when the bucket was last filled; 0: it was not filled yet, so the first
	 * filling makes it full. */
	uint64_t filled;
};

/* Fills the bucket. Returns how many bytes may pass now; UINT64_MAX if there is no limit. */
uint64_t bucket_fill(struct bucket *bucket, uint64_t now);
/* Takes bytes out of the bucket: at most as many as bucket_fill() returned. */
void bucket_take(struct bucket *bucket, uint64_t bytes);
/* Returns the time in ns, counted from the last filling, after which the bucket has enough bytes
 * for the lane to go on; 0 if it has enough now. */
uint64_t bucket_wait(const struct bucket *bucket);

#endif
