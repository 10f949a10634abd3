/* SPDX-License-Identifier: MIT */
#include "artifact/tar.h"

#include <archive_entry.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/progress.h"
#include "base/cleanup.h"
#include "base/limits.h"

#define MAGIC_AT 257
#define NO_ARCHIVE \
	"it is not a tar archive, neither plain nor compressed by gzip, bzip2, xz or zstd"
#define HEADERS \
	UINT64_C(4096)	     /* number of bytes that a bound allows for each entry's headers,
			      * including special headers, and for the padding after its contents */
#define BLOCK UINT64_C(4096) /* the least space in bytes that a file uses on a disk */

void tar_close(struct tar_reading *tar)
{
	packed_free_archive(&tar->archive);
	packed_free_archive(&tar->unpacker);
	packed_end(&tar->from);
	hash_free(&tar->hash);
}

int tar_out_of_memory(struct error *err)
{
	return error_set(
		err, ERR_INVALID,
		"more than %llu MiB of memory are needed to read the archive: make it again with less compression",
		(unsigned long long)limit_get(LIMIT_ARCHIVE_MEMORY_MIB));
}

static bool lacks_memory(struct archive *archive)
{
	return archive && archive_errno(archive) == ENOMEM;
}

/* If the file could not be read on the host, the error says why. Otherwise the error says that the
 * archive is damaged. The messages of libarchive are not used, because users do not understand
 * them. */
int tar_failed(const struct tar_reading *tar, struct error *err)
{
	int entry = archive_file_count(tar->archive);

	if (tar->stopped.msg[0]) {
		*err = tar->stopped;
		return -1;
	}
	if (tar->from.errnum)
		return error_errno(err, tar->from.errnum, "read");
	if (lacks_memory(tar->archive) || lacks_memory(tar->unpacker))
		return tar_out_of_memory(err);
	if (entry == 0)
		return error_set(err, ERR_INVALID, NO_ARCHIVE);
	return error_set(
		err, ERR_INVALID,
		tar->from.ended
			? "the archive ends too early, in or after its entry %d: fetch or make it again"
			: "the archive is damaged in or after its entry %d: fetch or make it again",
		entry);
}

static struct archive *new_tar(struct error *err)
{
	auto_archive struct archive *archive = archive_read_new();

	if (archive && archive_read_support_format_tar(archive) == ARCHIVE_OK &&
	    archive_read_support_format_empty(archive) == ARCHIVE_OK)
		return steal_ptr(&archive);
	error_errno(err, ENOMEM, "unpacking");
	return NULL;
}

/* --- counting and hashing -------------------------------------------------------------------- */

struct tar_bound tar_bound_of(uint64_t bytes, uint64_t count)
{
	const uint64_t tail = limit_get(LIMIT_LAYER_TAIL_BYTES);
	struct tar_bound bound = {.most = UINT64_MAX};

	if (count < (UINT64_MAX - tail) / HEADERS && bytes < UINT64_MAX - tail - count * HEADERS)
		bound.most = bytes + count * HEADERS + tail;
	return bound;
}

int tar_count(struct tar_bound *bound, uint64_t bytes, struct error *err)
{
	if (bytes > bound->most - bound->unpacked)
		return error_set(
			err, ERR_INVALID,
			"the archive unpacks, with its headers and the files that it replaces, to more than %llu MiB",
			(unsigned long long)(bound->most >> 20));
	bound->unpacked += bytes;
	return 0;
}

/* Counts and hashes unpacked bytes, and passes them to `archive`. The bytes are counted here, and
 * signals are checked here, because within one call of archive_read_next_header(), libarchive reads
 * any number of special headers of pax and GNU tar. */
static la_ssize_t read_unpacked(struct archive *archive, void *data, const void **out)
{
	struct tar_reading *tar = data;
	struct error *err = &tar->stopped;
	size_t len = 0;
	la_int64_t at;
	int got =
		tar->drained ? ARCHIVE_EOF : archive_read_data_block(tar->unpacker, out, &len, &at);

	tar->drained = got == ARCHIVE_EOF;
	if (tar->drained)
		return 0;
	if (got == ARCHIVE_OK && artifact_check_signal(err) == 0 &&
	    tar_count(tar->bound, len, err) == 0 &&
	    (!tar->hash || hash_add(tar->hash, *out, len, err) == 0)) {
		const uint8_t *bytes = *out;

		for (size_t i = 0; archive_file_count(archive) == 0 && !tar->has_bytes && i < len;
		     i++)
			tar->has_bytes = bytes[i] != 0;
		return (la_ssize_t)len;
	}
	archive_set_error(archive, got == ARCHIVE_OK ? EIO : archive_errno(tar->unpacker),
			  "unpacking");
	return ARCHIVE_FATAL;
}

static int open_unpacked(struct tar_reading *tar, int fd, uint64_t left, struct error *err)
{
	int got;

	if (packed_begin(&tar->from, fd, left, err) < 0 || !(tar->archive = new_tar(err)))
		return -1;
	got = packed_unpack(&tar->from, PACKINGS_OF_ARCHIVES, &tar->unpacker, err);
	if (!tar->unpacker)
		return -1;
	tar->drained = got == ARCHIVE_EOF;
	if (got != ARCHIVE_OK && got != ARCHIVE_EOF)
		return tar_failed(tar, err);
	got = archive_read_open2(tar->archive, tar, NULL, read_unpacked, NULL, NULL);
	return got == ARCHIVE_OK ? 0 : tar_failed(tar, err);
}

int tar_open_bounded(struct tar_reading *tar, int fd, uint64_t left, struct tar_bound *bound,
		     struct error *err)
{
	*tar = (struct tar_reading){.bound = bound};
	return open_unpacked(tar, fd, left, err);
}

/* Returns true if the first header has the magic of a plain archive (tar(5) of libarchive). An
 * archive of the oldest form has no magic, so it is handled like a compressed archive. */
static bool is_plain_tar(int fd)
{
	char header[512];

	return pread(fd, header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
	       memcmp(header + MAGIC_AT, "ustar", 5) == 0;
}

int tar_open(struct tar_reading *tar, int fd, struct tar_bound *bound, struct error *err)
{
	if (!is_plain_tar(fd))
		return tar_open_bounded(tar, fd, UINT64_MAX, bound, err);
	/* For this archive, libarchive gets no filters for compressions. With filters, libarchive
	 * would guess from the first bytes whether they are compressed, and a hostile archive can
	 * be both: plain by its magic, and compressed by its first bytes. */
	*tar = (struct tar_reading){0};
	if (packed_begin(&tar->from, fd, UINT64_MAX, err) < 0 || !(tar->archive = new_tar(err)))
		return -1;
	return packed_open(&tar->from, tar->archive) == ARCHIVE_OK ? 0 : tar_failed(tar, err);
}

int tar_open_hashed(struct tar_reading *tar, int fd, struct tar_bound *bound, struct error *err)
{
	*tar = (struct tar_reading){.bound = bound, .hash = hash_new(err)};
	return tar->hash ? open_unpacked(tar, fd, UINT64_MAX, err) : -1;
}

int tar_require_archive(struct tar_reading *tar, struct error *err)
{
	const void *block;
	la_ssize_t n = 0;

	if (archive_file_count(tar->archive) > 0)
		return 0;
	while (!tar->has_bytes && (n = read_unpacked(tar->archive, tar, &block)) > 0)
		continue;
	if (n < 0)
		return tar_failed(tar, err);
	return tar->has_bytes ? error_set(err, ERR_INVALID, NO_ARCHIVE) : 0;
}

int tar_digest(struct tar_reading *tar, uint64_t *behind, char out[DIGEST_TEXT], struct error *err)
{
	const uint64_t most = limit_get(LIMIT_LAYER_TAIL_BYTES);
	const void *block;
	la_ssize_t n;

	while ((n = read_unpacked(tar->archive, tar, &block)) > 0) {
		*behind += (uint64_t)n;
		if (*behind > most)
			return error_set(
				err, ERR_INVALID,
				"this layer and the layers before it have more than %llu bytes after the ends of their archives, the most that microagent reads: make the image again",
				(unsigned long long)most);
	}
	return n < 0 ? tar_failed(tar, err) : hash_end(tar->hash, out, err);
}

/* --- entries --------------------------------------------------------------------------------- */

int tar_admit(struct tar_files *files, int64_t size, struct error *err)
{
	if (size < 0)
		return error_set(
			err, ERR_INVALID,
			"the archive is damaged, because it has a file of a negative size: fetch or make it again");
	if ((uint64_t)size > files->most_bytes || files->bytes + (uint64_t)size > files->most_bytes)
		return error_set(
			err, ERR_INVALID,
			"the files of the archive would take more than %llu bytes on a disk, which is the most that microagent unpacks: give an archive with less in it",
			(unsigned long long)files->most_bytes);
	if (++files->count > files->most_count)
		return error_set(
			err, ERR_INVALID,
			"the archive has more than %llu files, which is the most that microagent unpacks: give an archive with fewer files",
			(unsigned long long)files->most_count);
	files->bytes += ((uint64_t)size + BLOCK - 1) / BLOCK * BLOCK;
	return 0;
}

uint64_t tar_bytes_read(const struct tar_reading *tar)
{
	return (uint64_t)archive_filter_bytes(tar->unpacker ? tar->unpacker : tar->archive, -1);
}

int tar_copy_data(const struct tar_reading *tar, int fd, int64_t size, struct error *err)
{
	const void *block;
	size_t len;
	la_int64_t at;
	int got;

	while ((got = archive_read_data_block(tar->archive, &block, &len, &at)) == ARCHIVE_OK) {
		if (at < 0 || at > size || (la_int64_t)len > size - at)
			return error_set(
				err, ERR_INVALID,
				"the archive is damaged, because it has a file with more data than its size says: fetch or make it again");
		if (artifact_check_signal(err) < 0 || packed_put(fd, block, len, at, err) < 0)
			return -1;
		progress_draw();
	}
	if (got != ARCHIVE_EOF)
		return tar_failed(tar, err);
	/* Ranges of a sparse file that are not written become holes. The size is set last, because
	 * the file may end with a hole. */
	return ftruncate(fd, size) < 0 ? error_errno(err, errno, "unpacking") : 0;
}

/* After 1 is returned, the next read from tar->archive gives the contents of the file. */
int tar_has(struct tar_reading *tar, const char *name, struct error *err)
{
	struct archive_entry *entry;
	int got;

	while ((got = archive_read_next_header(tar->archive, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		const char *there = archive_entry_pathname(entry);

		if (artifact_check_signal(err) < 0)
			return -1;
		if (there && strncmp(there, "./", 2) == 0)
			there += 2;
		if (there && strcmp(there, name) == 0)
			return 1;
	}
	return got == ARCHIVE_EOF ? 0 : tar_failed(tar, err);
}

int tar_check_files(struct tar_reading *tar, struct error *err)
{
	struct archive_entry *entry;
	int got;

	while ((got = archive_read_next_header(tar->archive, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		const char *there = archive_entry_pathname(entry);
		mode_t kind = archive_entry_filetype(entry);

		if (artifact_check_signal(err) < 0)
			return -1;
		if (kind != S_IFREG && kind != S_IFDIR && !archive_entry_hardlink(entry))
			return error_set(
				err, ERR_INVALID,
				"the archive's entry %.300s is neither a regular file nor a directory: make the archive without it",
				there ? there : "an entry");
		/* A hard link with contents is refused. Other programs, such as skopeo, would read
		 * these contents as the next entry, and this function would not have checked that
		 * entry. */
		if (archive_entry_hardlink(entry) && archive_entry_size(entry) > 0)
			return error_set(
				err, ERR_INVALID,
				"the archive's entry %.300s is a link, but has contents, which readers of archives understand in different ways: make the archive again",
				there ? there : "an entry");
	}
	return got == ARCHIVE_EOF ? 0 : tar_failed(tar, err);
}

int tar_take(struct tar_reading *tar, const char *name, struct buf *out, struct error *err)
{
	int there = tar_has(tar, name, err);
	const void *block;
	size_t len;
	la_int64_t at;
	int got;

	if (there == 0)
		return error_set(err, ERR_NOT_FOUND,
				 "the archive has no file %s: give the archive that has it", name);
	if (there < 0)
		return -1;
	while ((got = archive_read_data_block(tar->archive, &block, &len, &at)) == ARCHIVE_OK)
		if (buf_append(out, block, len, err) < 0)
			return -1;
	return got == ARCHIVE_EOF ? 0 : tar_failed(tar, err);
}
