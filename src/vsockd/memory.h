/* SPDX-License-Identifier: MIT */
/*
 * The guest's memory as the front-end shares it: at most MEMORY_REGIONS mapped pieces of
 * descriptors. The two accessors below are the only ways to a pointer into it, and every pointer
 * they give is good for the bytes they say. A table is checked whole before it takes the place of
 * the old one.
 */
#ifndef VSOCKD_MEMORY_H
#define VSOCKD_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define MEMORY_REGIONS 8

/* One region as the SET_MEM_TABLE message has it. */
struct memory_region {
	uint64_t guest;	 /* guest-physical address */
	uint64_t size;	 /* bytes */
	uint64_t user;	 /* address in the front-end's process: what ring addresses are given in */
	uint64_t offset; /* of the first byte in the descriptor */
};

struct memory {
	unsigned n;
	struct {
		struct memory_region at;
		uint8_t *map;	 /* the mapping; starts at the descriptor's offset 0 */
		uint64_t length; /* of the mapping */
	} region[MEMORY_REGIONS];
};

/* Maps regions[i] from fds[i]; the descriptors stay the caller's. Refused: an empty region, sums
 * that wrap, regions that overlap in either address space, a descriptor shorter than its region. On
 * failure the old table stays. */
int memory_set(struct memory *memory, const struct memory_region *regions, const int *fds,
	       unsigned n, struct error *err);
void memory_clear(struct memory *memory);
/* Lets go of the pages that were touched; they stay the guest's, and come back when they are
 * needed. So an idle device is small, however much has passed through it. */
void memory_trim(const struct memory *memory);

/* The byte at a guest-physical address; *run is how many bytes from there (at least 1, at most
 * len) lie in one piece. NULL when it is outside or len is 0. */
void *memory_guest(const struct memory *memory, uint64_t guest, uint64_t len, uint64_t *run);
/* len bytes at an address of the front-end's process, in one piece, or NULL. */
void *memory_user(const struct memory *memory, uint64_t user, uint64_t len);

#endif
