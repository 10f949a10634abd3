/* SPDX-License-Identifier: MIT */
#include "artifact/digest.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "artifact/artifact.h"
#include "artifact/hash.h"
#include "base/cleanup.h"
#include "base/path.h"

#define BLOCK (1u << 20)

/* Returns how many of the next `left` bytes at offset `at` lie in a hole. The caller need not read
 * holes. Reading the holes of a large disk would fill the host's page cache with zeros. */
static uint64_t hole_at(int fd, off_t at, uint64_t left)
{
	off_t data = lseek(fd, at, SEEK_DATA), end;

	if (data < 0 && errno == ENXIO) { /* `at` is after the last data of the file */
		end = lseek(fd, 0, SEEK_END);
		data = end > at ? end : at;
	}
	if (data <= at)
		return 0;
	return (uint64_t)(data - at) < left ? (uint64_t)(data - at) : left;
}

static int hash_zeros(struct hash *hash, uint64_t count, struct error *err)
{
	static const unsigned char zeros[BLOCK];

	while (count > 0) {
		size_t n = count < BLOCK ? (size_t)count : BLOCK;

		if (artifact_check_signal(err) < 0 || hash_add(hash, zeros, n, err) < 0)
			return -1;
		count -= n;
	}
	return 0;
}

/* Reads a block from the offset `at` of a regular file, or the next block of a stream. Returns the
 * number of bytes, 0 at the end, or -1 with err set. */
static ssize_t read_block(int fd, off_t at, size_t want, bool regular, unsigned char *block,
			  struct error *err)
{
	for (;;) {
		ssize_t n = regular ? pread(fd, block, want, at) : read(fd, block, want);

		if (artifact_check_signal(err) < 0)
			return -1;
		if (n >= 0)
			return n;
		if (errno != EINTR)
			return error_errno(err, errno, "read");
	}
}

/* Adds bytes to the hash: `left` bytes at offset `at` of a regular file, or all bytes of a
 * stream. */
static int hash_from(struct hash *hash, int fd, off_t at, uint64_t left, bool regular,
		     unsigned char *block, struct error *err)
{
	while (left > 0) {
		uint64_t hole = regular ? hole_at(fd, at, left) : 0;
		ssize_t n;

		if (hash_zeros(hash, hole, err) < 0)
			return -1;
		at += (off_t)hole;
		left -= hole;
		n = read_block(fd, at, left < BLOCK ? (size_t)left : BLOCK, regular, block, err);
		if (n < 0 || hash_add(hash, block, (size_t)n, err) < 0)
			return -1;
		if (n == 0)
			return 0;
		at += n;
		left -= regular ? (uint64_t)n : 0;
	}
	return 0;
}

/* Computes the digest of `left` bytes at offset `at` of a regular file, or of all bytes of a
 * stream. The position of a regular file's descriptor is not changed, because another process may
 * use it. */
static int digest_of(int fd, off_t at, uint64_t left, bool regular, char out[DIGEST_TEXT],
		     struct error *err)
{
	autofree unsigned char *block = malloc(BLOCK);
	auto_hash struct hash *hash = hash_new(err);
	off_t before;
	int result;

	if (!hash)
		return -1;
	if (!block)
		return error_errno(err, ENOMEM, "digest");
	before = regular ? lseek(fd, 0, SEEK_CUR) : -1;
	result = hash_from(hash, fd, at, left, regular, block, err);
	if (before >= 0)
		lseek(fd, before, SEEK_SET);
	return result < 0 ? -1 : hash_end(hash, out, err);
}

int digest_range(int fd, uint64_t at, uint64_t size, char out[DIGEST_TEXT], struct error *err)
{
	return digest_of(fd, (off_t)at, size, true, out, err);
}

int digest_fd(int fd, char out[DIGEST_TEXT], struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "descriptor %d", fd);
	return digest_of(fd, 0, UINT64_MAX, S_ISREG(st.st_mode), out, err);
}

int digest_file(const char *path, char out[DIGEST_TEXT], struct error *err)
{
	autoclose int fd = path_open_file(path, err);

	if (fd < 0)
		return -1;
	return digest_fd(fd, out, err) < 0 ? error_prefix(err, "%s", path) : 0;
}

int digest_bytes(const void *data, size_t len, char out[DIGEST_TEXT], struct error *err)
{
	auto_hash struct hash *hash = hash_new(err);

	if (!hash)
		return -1;
	if (hash_add(hash, data, len, err) < 0)
		return -1;
	return hash_end(hash, out, err);
}
