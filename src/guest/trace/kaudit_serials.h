/* SPDX-License-Identifier: MIT */
/*
 * Events that the kernel made and that never came. It numbers them, and what it drops between the
 * making and us it does not always count: without `audit=1` on its command line a record that found
 * our socket full twice is gone without a word. Pure.
 */
#ifndef GUEST_KAUDIT_SERIALS_H
#define GUEST_KAUDIT_SERIALS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: none seen yet. */
struct kaudit_serials {
	bool begun;
	uint64_t settled; /* up to here it is known which have come */
	uint64_t mark;	  /* the highest at the last question */
	uint64_t highest;
	uint64_t seen, seen_later; /* up to the mark and above it */
};

/* Once for each event that comes, in any order. */
void kaudit_serials_saw(struct kaudit_serials *serials, uint64_t serial);
/* How many of those that were expected at the last question have not come until now. One
 * processor's events overtake another's, so a second or so has to lie between two questions. */
uint64_t kaudit_serials_missing(struct kaudit_serials *serials);

#endif
