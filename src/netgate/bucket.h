/* SPDX-License-Identifier: MIT */
/*
 * A limit on the bytes per second in one direction. Time fills a bucket, and each byte that passes
 * is taken from the bucket. The bucket holds at most the bytes of a tenth of a second, or 16 KiB if
 * that is more. So a guest that has sent nothing for a long time cannot send more than this number
 * of bytes at once.
 */
#ifndef NETGATE_BUCKET_H
#define NETGATE_BUCKET_H

#include <stdint.h>

#define BUCKET_RATE_MAX UINT64_C(1000000000000)

struct bucket {
	uint64_t per_second; /* the limit in bytes per second, at most BUCKET_RATE_MAX; 0: no
			      * limit */
	uint64_t bytes;	     /* the number of bytes in the bucket */
	uint64_t parts;	     /* the fraction of one more byte that the bucket has, in millionths of
			      * a byte */
	/* The time in ns when the bucket was last filled. 0: the bucket was not filled yet, and the
	 * first filling makes it full. */
	uint64_t filled;
};

/* Fills the bucket for the time since the last filling. Returns how many bytes may pass now;
 * UINT64_MAX if there is no limit. */
uint64_t bucket_fill(struct bucket *bucket, uint64_t now);
/* Takes `bytes` bytes out of the bucket. `bytes` is at most the value that bucket_fill()
 * returned. */
void bucket_take(struct bucket *bucket, uint64_t bytes);
/* Returns how many ns after the last filling the bucket will have enough bytes for the lane to go
 * on. Returns 0 if it has enough bytes now. */
uint64_t bucket_wait(const struct bucket *bucket);

#endif
