/* SPDX-License-Identifier: MIT */
/*
 * A file system that was not unmounted has to replay its journal before it can be read, and that
 * writes. So what reads a disk from outside gets a layer that takes the writes: a qcow2 header, a
 * table and a block of reference counts, and an empty first-level table, a cluster each or more.
 */
#include "backend/qemu/overlay.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/frame.h"

#define CLUSTER_BITS 16
#define CLUSTER (UINT64_C(1) << CLUSTER_BITS)
/* What one entry of the first level covers. */
#define L1_REACH (CLUSTER * (CLUSTER / 8))
/* A reference count has 2 bytes; one block of them is all that is written here. */
#define CLUSTERS_MAX (CLUSTER / 2)

enum { REFCOUNT_TABLE = 1, REFCOUNT_BLOCK = 2, L1_TABLE = 3 };
#define HEADER 104
#define MAGIC 0x514649fbu /* "QFI" and 0xfb */

static void make_header(uint8_t out[HEADER], uint64_t size, uint64_t l1_entries)
{
	memset(out, 0, HEADER);
	be32_put(out, MAGIC);
	be32_put(out + 4, 3);
	be32_put(out + 20, CLUSTER_BITS);
	be64_put(out + 24, size);
	be32_put(out + 36, (uint32_t)l1_entries);
	be64_put(out + 40, L1_TABLE * CLUSTER);
	be64_put(out + 48, REFCOUNT_TABLE * CLUSTER);
	be32_put(out + 56, 1); /* clusters of the table */
	be32_put(out + 96, 4); /* 2^4 bits a count */
	be32_put(out + 100, HEADER);
}

static int write_at(int fd, const void *data, size_t len, uint64_t at, struct error *err)
{
	ssize_t n = pwrite(fd, data, len, (off_t)at);

	return n == (ssize_t)len ? 0 : error_errno(err, n < 0 ? errno : ENOSPC, "overlay");
}

int overlay_new(uint64_t size, struct error *err)
{
	autoclose int fd = memfd_create("overlay", MFD_CLOEXEC);
	uint64_t rounded = (size + 511) & ~UINT64_C(511);
	uint64_t l1_entries = (rounded + L1_REACH - 1) / L1_REACH;
	uint64_t clusters = L1_TABLE + (l1_entries * 8 + CLUSTER - 1) / CLUSTER;
	static const uint8_t one[2] = {0, 1};
	uint8_t header[HEADER], block[8];

	if (fd < 0)
		return error_errno(err, errno, "overlay");
	if (clusters > CLUSTERS_MAX)
		return error_set(err, ERR_UNSUPPORTED, "a disk of %llu bytes is too large",
				 (unsigned long long)size);
	make_header(header, rounded, l1_entries);
	be64_put(block, REFCOUNT_BLOCK * CLUSTER);
	if (ftruncate(fd, (off_t)(clusters * CLUSTER)) < 0)
		return error_errno(err, errno, "overlay");
	if (write_at(fd, header, sizeof(header), 0, err) < 0 ||
	    write_at(fd, block, sizeof(block), REFCOUNT_TABLE * CLUSTER, err) < 0)
		return -1;
	for (uint64_t i = 0; i < clusters; i++)
		if (write_at(fd, one, 2, REFCOUNT_BLOCK * CLUSTER + 2 * i, err) < 0)
			return -1;
	return steal_fd(&fd);
}
