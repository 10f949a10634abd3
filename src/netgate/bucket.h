/* SPDX-License-Identifier: MIT */
/*
 * A limit on the bytes per second in one direction: a bucket that time fills and passing bytes
 * empty. The bucket holds at most the bytes of a tenth of a second, so a guest that was quiet
 * cannot send more than that at once.
 */
#ifndef NETGATE_BUCKET_H
#define NETGATE_BUCKET_H

#include <stdint.h>

#define BUCKET_RATE_MAX UINT64_C(1000000000000)

struct bucket {
	uint64_t per_second; /* 0: no limit, at most BUCKET_RATE_MAX */
	uint64_t bytes;
	uint64_t parts;	 /* a part of the next byte, in millionths */
	uint64_t filled; /* ns, when last filled; 0: never, and the first filling fills it up */
};

/* Fills the bucket. Returns how many bytes may pass now; UINT64_MAX if there is no limit. */
uint64_t bucket_fill(struct bucket *bucket, uint64_t now);
/* Takes bytes out of the bucket: at most as many as bucket_fill() returned. */
void bucket_take(struct bucket *bucket, uint64_t bytes);
/* Returns the time in ns from the last filling until it is worth while to go on; 0 if it is
 * already. */
uint64_t bucket_wait(const struct bucket *bucket);

#endif
