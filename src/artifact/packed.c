/* SPDX-License-Identifier: MIT */
#include "artifact/packed.h"

#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "base/cleanup.h"

#define BLOCK (1u << 20)

static const struct {
	enum packing packing;
	const char *name;
	int (*support)(struct archive *archive);
} filters[] = {
	{PACKING_GZIP, "gzip", archive_read_support_filter_gzip},
	{PACKING_BZIP2, "bzip2", archive_read_support_filter_bzip2},
	{PACKING_XZ, "xz", archive_read_support_filter_xz},
	{PACKING_ZSTD, "zstd", archive_read_support_filter_zstd},
	{PACKING_LZMA, "lzma", archive_read_support_filter_lzma},
	{PACKING_LZ4, "lz4", archive_read_support_filter_lz4},
};

int packed_begin(struct packed *packed, int fd, uint64_t left, struct error *err)
{
	*packed = (struct packed){.fd = fd, .left = left, .block = malloc(BLOCK)};
	return packed->block ? 0 : error_errno(err, ENOMEM, "unpacking");
}

void packed_end(struct packed *packed)
{
	free(packed->block);
	packed->block = NULL;
}

static la_ssize_t read_packed(struct archive *archive, void *data, const void **out)
{
	struct packed *packed = data;
	size_t want = packed->left < BLOCK ? (size_t)packed->left : BLOCK;
	ssize_t n;

	do
		n = want ? read(packed->fd, packed->block, want) : 0;
	while (n < 0 && errno == EINTR && artifact_check_signal(NULL) == 0);
	if (n < 0) {
		packed->errnum = errno;
		archive_set_error(archive, errno, "read");
		return ARCHIVE_FATAL;
	}
	packed->ended = n == 0;
	if (packed->left != UINT64_MAX)
		packed->left -= (uint64_t)n;
	*out = packed->block;
	return n;
}

/* Skips bytes for libarchive, and returns the number of skipped bytes. Returns 0 if the bytes
 * cannot be skipped, for example in a pipe; libarchive then reads them. */
static la_int64_t skip_packed(struct archive *archive, void *data, la_int64_t bytes)
{
	struct packed *packed = data;
	off_t before = lseek(packed->fd, 0, SEEK_CUR);
	struct stat st;

	(void)archive;
	if (before < 0 || fstat(packed->fd, &st) < 0 || bytes < 0 || bytes > st.st_size - before ||
	    (uint64_t)bytes > packed->left || lseek(packed->fd, bytes, SEEK_CUR) < 0)
		return 0;
	if (packed->left != UINT64_MAX)
		packed->left -= (uint64_t)bytes;
	return bytes;
}

int packed_support(struct archive *archive, unsigned packings, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		if ((packings & filters[i].packing) && filters[i].support(archive) != ARCHIVE_OK)
			return error_set(
				err, ERR_UNSUPPORTED,
				"this host cannot read packed archives, because its libarchive was built without %s: install a libarchive that has it, as Debian's package libarchive13 does",
				filters[i].name);
	return 0;
}

int packed_open(struct packed *packed, struct archive *archive)
{
	return archive_read_open2(archive, packed, NULL, read_packed, skip_packed, NULL);
}

int packed_unpack(struct packed *packed, unsigned packings, struct archive **out, struct error *err)
{
	auto_archive struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	int got;

	*out = NULL;
	if (!archive || archive_read_support_format_raw(archive) != ARCHIVE_OK ||
	    archive_read_support_format_empty(archive) != ARCHIVE_OK) {
		error_errno(err, ENOMEM, "unpacking");
		return ARCHIVE_FATAL;
	}
	if (packed_support(archive, packings, err) < 0)
		return ARCHIVE_FATAL;
	got = packed_open(packed, archive);
	if (got == ARCHIVE_OK)
		got = archive_read_next_header(archive, &entry);
	*out = steal_ptr(&archive);
	return got;
}

int packed_put(int fd, const void *data, size_t len, int64_t at, struct error *err)
{
	const char *from = data;

	while (len > 0) {
		ssize_t n = pwrite(fd, from, len, at);

		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "unpacking");
		if (n > 0) {
			from += n;
			len -= (size_t)n;
			at += n;
		}
	}
	return 0;
}
