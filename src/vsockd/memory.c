/* SPDX-License-Identifier: MIT */
#include "vsockd/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Returns true if the range of `size` bytes from `at` is empty, or wraps around at 64 bits. */
static bool bad_range(uint64_t at, uint64_t size)
{
	return !size || size - 1 > UINT64_MAX - at;
}

/* Returns true if the two ranges overlap. Neither range wraps around, so the distance of their
 * starts decides. */
static bool overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
	return a < b ? b - a < a_size : a - b < b_size;
}

static int check_region(const struct memory_region *r, unsigned i, struct error *err)
{
	if (bad_range(r->guest, r->size) || bad_range(r->user, r->size) ||
	    bad_range(r->offset, r->size) || r->offset + r->size > INT64_MAX)
		return error_set(
			err, ERR_INVALID,
			"QEMU's table of the guest's memory is wrong: region %u is empty or wraps around its address space; this is a bug, or QEMU was taken over",
			i);
	return 0;
}

static int check_table(const struct memory_region *r, unsigned n, struct error *err)
{
	if (n > MEMORY_REGIONS)
		return error_set(
			err, ERR_INVALID,
			"QEMU's table of the guest's memory has %u regions, and at most %d are allowed: this is a bug, or QEMU was taken over",
			n, MEMORY_REGIONS);
	for (unsigned i = 0; i < n; i++) {
		if (check_region(&r[i], i, err) < 0)
			return -1;
		for (unsigned k = 0; k < i; k++)
			if (overlap(r[i].guest, r[i].size, r[k].guest, r[k].size) ||
			    overlap(r[i].user, r[i].size, r[k].user, r[k].size))
				return error_set(
					err, ERR_INVALID,
					"QEMU's table of the guest's memory is wrong: regions %u and %u overlap; this is a bug, or QEMU was taken over",
					k, i);
	}
	return 0;
}

/*
 * Maps a region, from offset 0 of the descriptor. With huge pages any other offset would have to be
 * a multiple of a page size that the daemon does not know. MAP_NORESERVE is used, since the memory
 * belongs to the guest.
 */
static int map_region(const struct memory_region *r, int fd, uint8_t **map, struct error *err)
{
	uint64_t length = r->offset + r->size;
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "descriptor of guest memory");
	/* An access behind the end of the file would raise SIGBUS. */
	if (st.st_size < 0 || (uint64_t)st.st_size < length)
		return error_set(
			err, ERR_INVALID,
			"QEMU's table of the guest's memory is wrong: a region is larger than its file; this is a bug, or QEMU was taken over");
	p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		return error_errno(err, errno, "map guest memory");
	*map = p;
	return 0;
}

int memory_set(struct memory *memory, const struct memory_region *regions, const int *fds,
	       unsigned n, struct error *err)
{
	struct memory fresh = {.n = 0};

	if (check_table(regions, n, err) < 0)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		fresh.region[i].at = regions[i];
		fresh.region[i].length = regions[i].offset + regions[i].size;
		if (map_region(&regions[i], fds[i], &fresh.region[i].map, err) < 0) {
			memory_clear(&fresh);
			return -1;
		}
		fresh.n = i + 1;
	}
	memory_clear(memory);
	*memory = fresh;
	return 0;
}

void memory_clear(struct memory *memory)
{
	for (unsigned i = 0; i < memory->n; i++)
		munmap(memory->region[i].map, memory->region[i].length);
	memory->n = 0;
}

void memory_trim(const struct memory *memory)
{
	for (unsigned i = 0; i < memory->n; i++)
		madvise(memory->region[i].map, memory->region[i].length, MADV_DONTNEED);
}

void *memory_guest(const struct memory *memory, uint64_t guest, uint64_t len, uint64_t *run)
{
	for (unsigned i = 0; i < memory->n; i++) {
		const struct memory_region *r = &memory->region[i].at;
		/* If the address is below the region, the difference wraps to a number above the
		 * region's size. */
		uint64_t inside = guest - r->guest;

		if (!len || inside >= r->size)
			continue;
		*run = len < r->size - inside ? len : r->size - inside;
		return memory->region[i].map + r->offset + inside;
	}
	return NULL;
}

void *memory_user(const struct memory *memory, uint64_t user, uint64_t len)
{
	for (unsigned i = 0; i < memory->n; i++) {
		const struct memory_region *r = &memory->region[i].at;
		uint64_t inside = user - r->user;

		if (inside < r->size && len <= r->size - inside)
			return memory->region[i].map + r->offset + inside;
	}
	return NULL;
}
