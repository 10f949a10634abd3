/* SPDX-License-Identifier: MIT */
/*
 * An archive for config.bundles as a hostile maker may write it. Whatever it contains, nothing is
 * made or changed beside the contents, the contents are within the limits, and a file system is
 * made of them.
 */
#include "artifact/layer.h"
#include "base/fd.h"
#include "rootfs_check.h"
#include "tar_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rootfs_bounds rootfs_bounds = {
	.bytes = UINT64_MAX, .count = 300, .text = 20000, .straight = true};
static const struct layer_bounds bounds = {.bytes = 1 << 20, .count = 300};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tar_input in = {data, data + size};
	autobuf struct buf archive = BUF_INIT(0);
	int top = fuzz_directory(), contents = rootfs_check_begin(top);
	struct rootfs *fs = rootfs_new(contents, 1, &rootfs_bounds, NULL);
	struct error err = {0};

	tar_build(&in, &archive);
	autoclose int fd = fd_memfd("archive", buf_bytes(&archive), archive.len, NULL);
	if (fd < 0 || !fs)
		abort();
	if (layer_unpack(fs, fd, "archive", &bounds, &err) == 0) {
		rootfs_check(fs);
		rootfs_check_image(fs, top, size);
	} else if (!err.msg[0]) {
		abort();
	}
	rootfs_free(fs);
	rootfs_check_end(top, contents);
	return 0;
}
