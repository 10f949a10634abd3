/* SPDX-License-Identifier: MIT */
/*
 * Writes and checks qcow2 layers. An empty layer consists of a header, a table of reference counts,
 * a block of reference counts, and an empty first-level table. Each of these four uses one cluster
 * or more. https://www.qemu.org/docs/master/interop/qcow2.html
 */
#include "store/layer.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/frame.h"

#define CLUSTER_BITS 16
#define CLUSTER (UINT64_C(1) << CLUSTER_BITS)
/* The number of bytes of the disk that one entry of the first-level table covers. */
#define L1_REACH (CLUSTER * (CLUSTER / 8))
/* The number of clusters that one block of reference counts covers. A count has 2 bytes.
 * layer_write() writes only one block, so a new layer may not have more clusters. */
#define CLUSTERS_MAX (CLUSTER / 2)

enum { REFCOUNT_TABLE = 1, REFCOUNT_BLOCK = 2, L1_TABLE = 3 };

/* Offsets of the fields in the header. The fields are big-endian. */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_BACKING_OFFSET = 8, /* offset of the backing file's name; a value of 0 means that there
			        * is no name */
	AT_BACKING_LENGTH = 16,
	AT_CLUSTER_BITS = 20,
	AT_SIZE = 24,
	AT_ENCRYPTION = 32,
	AT_L1_ENTRIES = 36,
	AT_L1_TABLE = 40,
	AT_REFCOUNT_TABLE = 48,
	AT_REFCOUNT_CLUSTERS = 56,
	AT_SNAPSHOTS = 60,
	AT_INCOMPATIBLE = 72, /* bits for features that a reader must know, for example an external
			       * data file or compression */
	AT_REFCOUNT_ORDER = 96,
	AT_HEADER_LENGTH = 100,
	HEADER = 104,
};
/* The first four bytes of a qcow2 file: "QFI" and 0xfb. */
#define MAGIC 0x514649fbu
#define VERSION 3
/* A VMM sets this bit while it writes. If the VMM is killed, the next VMM repairs the layer by
 * itself. */
#define INCOMPATIBLE_DIRTY UINT64_C(1)

static int write_at(int fd, const void *data, size_t len, uint64_t at, struct error *err)
{
	ssize_t n = pwrite(fd, data, len, (off_t)at);

	return n == (ssize_t)len ? 0 : error_errno(err, n < 0 ? errno : ENOSPC, "layer");
}

/* Rounds the size in bytes up to whole sectors of 512 bytes, as a VMM does. */
static uint64_t in_sectors(uint64_t size)
{
	return (size + 511) & ~UINT64_C(511);
}

static uint64_t l1_entries_of(uint64_t size)
{
	return (in_sectors(size) + L1_REACH - 1) / L1_REACH;
}

/* Returns the number of clusters that the header and all tables except the second-level tables
 * use. */
static uint64_t least_clusters(uint64_t size)
{
	return L1_TABLE + (l1_entries_of(size) * 8 + CLUSTER - 1) / CLUSTER;
}

uint64_t layer_least(uint64_t size)
{
	return least_clusters(size) * CLUSTER;
}

uint64_t layer_most(uint64_t size)
{
	/* The clusters that a VMM can add: the second-level tables (one for each first-level entry)
	 * and the contents of the disk. The blocks of reference counts for them are added below. */
	uint64_t clusters = l1_entries_of(size) + (size + CLUSTER - 1) / CLUSTER;

	return 2 * (least_clusters(size) + clusters + clusters / CLUSTERS_MAX + 1) * CLUSTER;
}

int layer_end(int fd, uint64_t *out, struct error *err)
{
	off_t low = 0, high = lseek(fd, 0, SEEK_END);

	if (high < 0)
		return error_errno(err, errno, "layer");
	high = (high + (off_t)CLUSTER - 1) / (off_t)CLUSTER;
	/* In each round, these two facts are true: there is data at or after cluster low - 1, and
	 * there is no data at or after cluster high. */
	while (low < high) {
		off_t middle = low + (high - low) / 2;

		if (lseek(fd, middle * (off_t)CLUSTER, SEEK_DATA) >= 0 || errno != ENXIO)
			low = middle + 1;
		else
			high = middle;
	}
	*out = (uint64_t)high * CLUSTER;
	return 0;
}

int layer_write(int fd, uint64_t size, struct error *err)
{
	static const uint8_t one[2] = {0, 1};
	uint64_t clusters = least_clusters(size);
	uint8_t header[HEADER] = {0}, block[8];

	if (size == 0 || clusters > CLUSTERS_MAX)
		return error_set(
			err, ERR_UNSUPPORTED,
			"a layer cannot be made for a disk of %llu bytes: the disk is empty or too large",
			(unsigned long long)size);
	be32_put(header + AT_MAGIC, MAGIC);
	be32_put(header + AT_VERSION, VERSION);
	be32_put(header + AT_CLUSTER_BITS, CLUSTER_BITS);
	be64_put(header + AT_SIZE, in_sectors(size));
	be32_put(header + AT_L1_ENTRIES, (uint32_t)l1_entries_of(size));
	be64_put(header + AT_L1_TABLE, L1_TABLE * CLUSTER);
	be64_put(header + AT_REFCOUNT_TABLE, REFCOUNT_TABLE * CLUSTER);
	be32_put(header + AT_REFCOUNT_CLUSTERS, 1);
	be32_put(header + AT_REFCOUNT_ORDER, 4); /* each count has 2^4 bits */
	be32_put(header + AT_HEADER_LENGTH, HEADER);
	if (ftruncate(fd, (off_t)(clusters * CLUSTER)) < 0)
		return error_errno(err, errno, "layer");
	be64_put(block, REFCOUNT_BLOCK * CLUSTER);
	if (write_at(fd, header, sizeof(header), 0, err) < 0 ||
	    write_at(fd, block, sizeof(block), REFCOUNT_TABLE * CLUSTER, err) < 0)
		return -1;
	for (uint64_t i = 0; i < clusters; i++)
		if (write_at(fd, one, 2, REFCOUNT_BLOCK * CLUSTER + 2 * i, err) < 0)
			return -1;
	return 0;
}

static bool names_nothing(const uint8_t header[HEADER])
{
	return be64_get(header + AT_BACKING_OFFSET) == 0 &&
	       be32_get(header + AT_BACKING_LENGTH) == 0 && be32_get(header + AT_ENCRYPTION) == 0 &&
	       be32_get(header + AT_SNAPSHOTS) == 0 &&
	       (be64_get(header + AT_INCOMPATIBLE) & ~INCOMPATIBLE_DIRTY) == 0;
}

int layer_check(int fd, uint64_t size, struct error *err)
{
	uint8_t header[HEADER];
	ssize_t n = pread(fd, header, sizeof(header), 0);

	if (n < 0)
		return error_errno(err, errno, "cannot be read");
	if (n < HEADER || be32_get(header + AT_MAGIC) != MAGIC ||
	    be32_get(header + AT_VERSION) != VERSION ||
	    be32_get(header + AT_CLUSTER_BITS) != CLUSTER_BITS)
		return error_set(err, ERR_INVALID,
				 "the file is not a qcow2 layer that microagent made");
	if (!names_nothing(header))
		return error_set(
			err, ERR_INVALID,
			"the file is a qcow2 image with a backing file, a snapshot or a feature that microagent's layers do not have");
	if (be64_get(header + AT_SIZE) != in_sectors(size))
		return error_set(err, ERR_INVALID,
				 "the layer is for a disk of %llu bytes, but the base has %llu",
				 (unsigned long long)be64_get(header + AT_SIZE),
				 (unsigned long long)size);
	return 0;
}
