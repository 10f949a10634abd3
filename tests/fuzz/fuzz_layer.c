/* SPDX-License-Identifier: MIT */
/*
 * Layers as a hostile image may have them, applied one after the other. Whatever they contain,
 * nothing is made or changed beside their contents, every name and byte that was counted is there,
 * and a file system is made of it.
 */
#include "artifact/layer.h"
#include "base/fd.h"
#include "rootfs_check.h"
#include "tar_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LAYERS_MAX 8

static const struct rootfs_bounds bounds = {.bytes = 1 << 20, .count = 300, .text = 20000};

static bool apply(struct rootfs *fs, const struct buf *archive)
{
	char diff_id[DIGEST_TEXT] = "";
	struct error err = {0};
	autoclose int fd = fd_memfd("layer", buf_bytes(archive), archive->len, NULL);
	int result;

	if (fd < 0)
		abort();
	result = layer_apply(fs, fd, 0, archive->len, diff_id, &err);
	if ((result < 0) != (err.msg[0] != '\0'))
		abort();
	if ((result < 0) != (strspn(diff_id, "0123456789abcdef") != DIGEST_TEXT - 1))
		abort();
	return result == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tar_input in = {data, data + size};
	int top = fuzz_directory(), contents = rootfs_check_begin(top);
	struct rootfs *fs = rootfs_new(contents, 1, &bounds, NULL);
	bool whole = true;

	if (!fs)
		abort();
	for (int i = 0; i < LAYERS_MAX && whole; i++) {
		autobuf struct buf archive = BUF_INIT(0);

		if (!tar_build(&in, &archive))
			break;
		whole = apply(fs, &archive);
	}
	if (rootfs_count(fs) > bounds.count)
		abort();
	rootfs_check(fs);
	if (whole)
		rootfs_check_image(fs, top, size);
	rootfs_free(fs);
	rootfs_check_end(top, contents);
	return 0;
}
