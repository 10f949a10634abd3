/* SPDX-License-Identifier: MIT */
/*
 * The command bundle-build: a tar archive as an ext4 file system, which the guest mounts read-only.
 * Owners, modes, times and links are the archive's; nodes of devices, FIFOs and sockets are left
 * out. The archive may be hostile: names that lead out of it are refused, and how much it unpacks
 * to is bounded.
 */
#include <errno.h>
#include <fcntl.h>

#include "artifact/artifact.h"
#include "artifact/ext4.h"
#include "artifact/layer.h"
#include "artifact/place.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"

#define BLOCK UINT64_C(4096)
/* mke2fs makes an inode for so many bytes of the file system. */
#define BYTES_PER_INODE UINT64_C(16384)
#define MIB (UINT64_C(1) << 20)
#define SLACK (16 * MIB)

/* Fixed, so that the same archive gives the same bytes. */
static const char uuid[] = "b0b0b0b0-0000-4000-8000-6d6963726f61";
#define FIXED_TIME 1767225600

static uint64_t bundle_size(const struct rootfs *fs)
{
	uint64_t files = rootfs_count(fs) + 1; /* the root */
	uint64_t bytes = SLACK + rootfs_bytes(fs) + files * (BYTES_PER_INODE + BLOCK);

	bytes += bytes / 32;
	return (bytes + MIB - 1) & ~(MIB - 1);
}

static int make_bundle(const struct place *place, struct rootfs *fs, int to, struct error *err)
{
	autofree char *file = place_scratch(place, "bundle", err);
	const struct ext4_spec spec = {.label = "bundle",
				       .uuid = uuid,
				       .size = bundle_size(fs),
				       .journal_mib = 4,
				       .time = FIXED_TIME};
	autoclose int made = -1;

	if (!file || ext4_make(&spec, fs, file, err) < 0)
		return -1;
	made = open(file, O_RDONLY | O_CLOEXEC);
	if (made < 0)
		return error_errno(err, errno, "%s", file);
	return path_clone_data(made, to, NULL, err);
}

static int build_bundle(const struct place *place, const char *from, int to, struct error *err)
{
	const struct rootfs_bounds rootfs = {.bytes = UINT64_MAX,
					     .count = limit_get(LIMIT_BUNDLE_FILES),
					     .text = limit_get(LIMIT_IMAGE_TEXT_BYTES),
					     .straight = true};
	const struct layer_bounds archive = {.bytes = limit_get(LIMIT_BUNDLE_BYTES),
					     .count = limit_get(LIMIT_BUNDLE_FILES)};
	autoclose int data = place_subdir(place, "data", err);
	auto_rootfs struct rootfs *fs =
		data < 0 ? NULL : rootfs_new(data, FIXED_TIME, &rootfs, err);

	return fs && layer_unpack(fs, from, &archive, err) == 0 ? make_bundle(place, fs, to, err)
								: -1;
}

int artifact_bundle_build(const struct artifact_options *opts, struct error *err)
{
	auto_place struct place place = {0};
	json_auto_t *answer = json_object();
	int to;

	if (!opts->from || !opts->fd)
		return error_set(err, ERR_INVALID,
				 "bundle-build needs --from ARCHIVE and --fd N to write to");
	to = artifact_fd(opts, err);
	if (to < 0 || place_open(CACHE_IMAGES, "bundle", &place, err) < 0 ||
	    build_bundle(&place, opts->from, to, err) < 0)
		return -1;
	return artifact_answer(opts, answer, err, "the bundle is built");
}
