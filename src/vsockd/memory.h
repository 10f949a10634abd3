/* SPDX-License-Identifier: MIT */
/*
 * The guest's memory as the front-end shares it: at most MEMORY_REGIONS mapped pieces of
 * descriptors. A pointer into the memory comes only from the two accessors below, and is valid for
 * the number of bytes that the accessor states. A new table is checked completely before it
 * replaces the old one.
 */
#ifndef VSOCKD_MEMORY_H
#define VSOCKD_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define MEMORY_REGIONS 8

/* One region, as in the SET_MEM_TABLE message. */
struct memory_region {
	uint64_t guest;	 /* guest-physical address */
	uint64_t size;	 /* bytes */
	uint64_t user;	 /* address in the front-end's process; ring addresses use it */
	uint64_t offset; /* offset of the first byte in the descriptor */
};

struct memory {
	unsigned n;
	struct {
		struct memory_region at;
		uint8_t *map;	 /* the mapping, which starts at the descriptor's offset 0 */
		uint64_t length; /* bytes of the mapping */
	} region[MEMORY_REGIONS];
};

/* Maps regions[i] from fds[i]; the caller keeps the descriptors. Refuses an empty region, sums that
 * wrap, regions that overlap in either address space, and a descriptor shorter than its region. On
 * failure the old table stays. */
int memory_set(struct memory *memory, const struct memory_region *regions, const int *fds,
	       unsigned n, struct error *err);
void memory_clear(struct memory *memory);
/* Releases the pages that were touched. The pages stay the guest's, and are mapped again when they
 * are needed. So an idle device is small, however many bytes have passed through it. */
void memory_trim(const struct memory *memory);

/* Returns the byte at a guest-physical address; NULL if the address is outside the memory or len is
 * 0. *run is how many bytes from there on (at least 1, at most len) lie in one piece. */
void *memory_guest(const struct memory *memory, uint64_t guest, uint64_t len, uint64_t *run);
/* Returns len bytes in one piece at an address of the front-end's process; NULL if they are not
 * there. */
void *memory_user(const struct memory *memory, uint64_t user, uint64_t len);

#endif
