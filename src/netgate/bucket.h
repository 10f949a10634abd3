/* SPDX-License-Identifier: MIT */
/*
 * How many bytes a second one direction may have: a bucket that is filled with time and emptied by
 * what goes through. What it can hold is a tenth of a second's, so that a guest that was quiet has
 * no more than that at once.
 */
#ifndef NETGATE_BUCKET_H
#define NETGATE_BUCKET_H

#include <stdint.h>

#define BUCKET_RATE_MAX UINT64_C(1000000000000)

struct bucket {
	uint64_t per_second; /* 0: no limit, at most BUCKET_RATE_MAX */
	uint64_t bytes;
	uint64_t parts;	 /* of the next byte, in millionths */
	uint64_t filled; /* when, ns; 0: never yet, and then it becomes full */
};

/* What may go through now; UINT64_MAX where there is no limit. */
uint64_t bucket_fill(struct bucket *bucket, uint64_t now);
/* At most what bucket_fill() said. */
void bucket_take(struct bucket *bucket, uint64_t bytes);
/* From the last filling until it is worth while to go on, in ns: 0 where it is. */
uint64_t bucket_wait(const struct bucket *bucket);

#endif
