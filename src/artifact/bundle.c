/* SPDX-License-Identifier: MIT */
/*
 * The command bundle-build makes an ext4 file system from a tar archive. A guest mounts this file
 * system read-only. Owners, modes, times and links are those of the archive. Device nodes, FIFOs
 * and sockets are left out. The archive may be hostile: names that lead out of the file system's
 * root are refused, and the unpacked size is limited.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "artifact/artifact.h"
#include "artifact/ext4.h"
#include "artifact/layer.h"
#include "artifact/place.h"
#include "artifact/reader.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"

#define BUNDLE_FILE "bundle"
#define BLOCK UINT64_C(4096)
/* mke2fs makes one inode for each BYTES_PER_INODE bytes of the file system. */
#define BYTES_PER_INODE UINT64_C(16384)
#define MIB (UINT64_C(1) << 20)
#define SLACK (16 * MIB)

/* The file system's UUID and time are fixed, so that the same archive always gives the same
 * bytes. */
static const char uuid[] = "b0b0b0b0-0000-4000-8000-6d6963726f61";
#define FIXED_TIME 1767225600

struct bundle {
	const struct place *place;
	const char *from;
	int archive;
	struct ext4_spec ext4;
};

static uint64_t bundle_size(uint64_t bytes, uint64_t count)
{
	uint64_t files = count + 1; /* number of files, including the root directory */

	bytes += SLACK + files * (BYTES_PER_INODE + BLOCK);
	bytes += bytes / 32;
	return (bytes + MIB - 1) & ~(MIB - 1);
}

static int unpack_into_bundle(void *data, struct buf *out, struct error *err)
{
	struct bundle *b = data;
	const struct rootfs_bounds rootfs = {.bytes = UINT64_MAX,
					     .count = limit_get(LIMIT_BUNDLE_FILES),
					     .text = limit_get(LIMIT_IMAGE_TEXT_BYTES),
					     .straight = true};
	const struct layer_bounds archive = {.bytes = limit_get(LIMIT_BUNDLE_BYTES),
					     .count = limit_get(LIMIT_BUNDLE_FILES)};
	autoclose int contents = place_subdir(b->place, "data", err);
	auto_rootfs struct rootfs *fs =
		contents < 0 ? NULL : rootfs_new(contents, FIXED_TIME, &rootfs, err);
	uint64_t size;

	(void)out;
	if (!fs || layer_unpack(fs, b->archive, b->from, &archive, err) < 0)
		return -1;
	size = bundle_size(rootfs_bytes(fs), rootfs_count(fs));
	if (reader_ask(&size, sizeof(size), err) < 0)
		return -1;
	return ext4_write(&b->ext4, fs, BUNDLE_FILE, err);
}

/* Makes the disk with the size that the reader asks for. The reader may be hostile, so a size that
 * is larger than any allowed contents need is refused. In the largest case, each allowed file has a
 * directory of its own. */
static int make_bundle_disk(void *data, const void *asked, size_t len, struct error *err)
{
	struct bundle *b = data;
	autofree char *file = place_scratch(b->place, BUNDLE_FILE, err);
	const uint64_t files = limit_get(LIMIT_BUNDLE_FILES);

	if (!file)
		return -1;
	if (len == sizeof(b->ext4.size))
		memcpy(&b->ext4.size, asked, len);
	if (len != sizeof(b->ext4.size) ||
	    b->ext4.size > bundle_size(limit_get(LIMIT_BUNDLE_BYTES) + files * BLOCK, files))
		return error_set(
			err, ERR_INTERNAL,
			"the process that reads the archive asked for a disk of a wrong size: this is a bug, or the archive is made to attack its reader; the bundle is not made");
	return ext4_make_empty(&b->ext4, file, err);
}

int artifact_bundle_build(const struct artifact_options *opts, struct error *err)
{
	auto_place struct place place = {0};
	json_auto_t *answer = json_object();
	struct bundle bundle = {
		.place = &place,
		.from = opts->from,
		.ext4 = {.label = "bundle", .uuid = uuid, .journal_mib = 4, .time = FIXED_TIME}};
	autoclose int archive = -1, made = -1;
	autofree char *file = NULL;
	int to;

	if (!opts->from || !opts->fd)
		return error_set(
			err, ERR_INVALID,
			"bundle-build needs --from ARCHIVE, and --fd N for the disk that it writes");
	to = artifact_fd(opts, err);
	if (to < 0)
		return -1;
	archive = artifact_open_from(opts, err);
	if (archive < 0)
		return -1;
	bundle.archive = archive;
	if (place_open(CACHE_IMAGES, "bundle", &place, err) < 0)
		return -1;
	const struct reader_work work = {.read = unpack_into_bundle,
					 .serve = make_bundle_disk,
					 .data = &bundle,
					 .from = archive,
					 .dir = place.scratch_fd};
	file = place_scratch(&place, BUNDLE_FILE, err);
	if (!file || reader_run(&work, NULL, err) < 0 || ext4_fsck(&bundle.ext4, file, err) < 0)
		return -1;
	made = openat(place.scratch_fd, BUNDLE_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (made < 0)
		return error_errno(err, errno, "%s", file);
	if (path_clone_data(made, to, NULL, err) < 0)
		return -1;
	return artifact_answer(opts, answer, err, "the bundle is built");
}
