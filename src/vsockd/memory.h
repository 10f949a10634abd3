/* SPDX-License-Identifier: MIT */
/*
 * The guest's memory as the front-end shares it: at most MEMORY_REGIONS regions, each of which is
 * mapped from a descriptor. A pointer into the memory comes only from the two accessors
 * memory_guest() and memory_user(), and is valid for the number of bytes that the accessor states.
 * A new table of regions is checked completely before it replaces the old one.
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
	uint64_t user;	 /* address in the front-end's process; the addresses of rings use this
			  * address space */
	uint64_t offset; /* offset in bytes of the region's first byte in the descriptor */
};

struct memory {
	unsigned n;
	struct {
		struct memory_region at;
		uint8_t *map;	 /* the mapping, which begins with offset 0 of the descriptor */
		uint64_t length; /* the number of bytes of the mapping */
	} region[MEMORY_REGIONS];
};

/* Replaces the table: maps regions[i] from fds[i]. The caller closes the descriptors. ERR_INVALID:
 * there are too many regions, a region is empty, a range wraps around, two regions overlap in one
 * of the two address spaces, or a descriptor is shorter than its region. After an error the old
 * table is still valid. */
int memory_set(struct memory *memory, const struct memory_region *regions, const int *fds,
	       unsigned n, struct error *err);
/* Unmaps all regions. */
void memory_clear(struct memory *memory);
/* Removes all pages of the guest's memory from the mappings of this process. The guest keeps the
 * contents of the pages, and a page is mapped again when it is needed. So an idle device needs
 * little memory, even if many bytes have passed through it. */
void memory_trim(const struct memory *memory);

/* Returns a pointer to a guest-physical address; NULL if the address is outside the memory, or len
 * is 0. Sets *run to the number of bytes (at least 1, at most len) for which the pointer is valid.
 */
void *memory_guest(const struct memory *memory, uint64_t guest, uint64_t len, uint64_t *run);
/* Returns a pointer to an address of the front-end's process, valid for `len` bytes; NULL if these
 * bytes are not all in one region. */
void *memory_user(const struct memory *memory, uint64_t user, uint64_t len);

#endif
