/* SPDX-License-Identifier: MIT */
/*
 * Layers as a hostile image may have them, put over each other and staged: whatever they hold,
 * nothing is made or changed beside the staging directory, every name that was counted is there and
 * listed as what it is, and what was counted as its bytes is what it is.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "artifact/layer.h"
#include "artifact/rootfs.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "fuzz_directory.h"
#include "tar_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BLOCK UINT64_C(4096)
#define LAYERS_MAX 8

static const struct rootfs_bounds bounds = {.bytes = 1 << 20, .count = 300, .text = 20000};

static int make_dir(int at, const char *name)
{
	int fd;

	if (mkdirat(at, name, 0700) < 0)
		abort();
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		abort();
	return fd;
}

static size_t entries_of(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *e;
	size_t n = 0;

	if (!list)
		abort();
	while ((e = readdir(list)) != NULL)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(list);
	return n;
}

static bool apply(struct rootfs *fs, const struct buf *archive)
{
	struct error err = {0};
	autoclose int fd = fd_memfd("layer", buf_bytes(archive), archive->len, NULL);
	char name[32];
	int result;

	if (fd < 0)
		abort();
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	result = layer_apply(fs, name, 0, archive->len, &err);
	if ((result < 0) != (err.msg[0] != '\0'))
		abort();
	return result == 0;
}

/* Of the entry as it was staged: no link is on the way to it, and it is what the list says. */
static struct stat staged(int stage, const struct tree_entry *entry)
{
	const struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};
	const char *name = entry->path[1] ? entry->path + 1 : ".";
	autoclose int fd = (int)syscall(SYS_openat2, stage, name, &how, sizeof(how));
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (st.st_mode & S_IFMT) != (entry->mode & S_IFMT))
		abort();
	return st;
}

static void check(const struct rootfs *fs, int stage, const struct tree *tree, uint64_t before)
{
	uint64_t bytes = 0, names = 0;

	for (size_t i = 0; i < tree->count; i++) {
		struct stat st = staged(stage, &tree->entries[i]);

		if (S_ISDIR(st.st_mode)) {
			bytes += BLOCK;
			names++;
		} else if (S_ISREG(st.st_mode)) {
			bytes += ((uint64_t)st.st_size + BLOCK - 1) & ~(BLOCK - 1);
			names += st.st_nlink;
		} else {
			names += st.st_nlink;
		}
	}
	/* The root is no name, and counts once a layer has it. */
	if (names - 1 != rootfs_count(fs) || (bytes != before && bytes - BLOCK != before))
		abort();
}

static void stage(struct rootfs *fs, int top, int data)
{
	autoclose int dir = make_dir(top, "stage");
	auto_tree struct tree tree = {0};
	uint64_t bytes = rootfs_bytes(fs);
	struct error err = {0};

	/* Names with control characters are refused here, no sooner. */
	if (rootfs_stage(fs, dir, &tree, &err) < 0) {
		if (err.code != ERR_UNSUPPORTED)
			abort();
		return;
	}
	check(fs, dir, &tree, bytes);
	if (entries_of(data) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tar_input in = {data, data + size};
	int top = fuzz_directory();
	struct error err;
	bool whole = true;

	autoclose int contents = make_dir(top, "data");
	struct rootfs *fs = rootfs_new(contents, 1, &bounds, &err);
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
	if (whole)
		stage(fs, top, contents);
	rootfs_free(fs);
	if (!whole && entries_of(contents) != 0)
		abort();
	path_remove_tree_at(top, "data", NULL);
	path_remove_tree_at(top, "stage", NULL);
	if (entries_of(top) != 1 || !fuzz_outside_is_same(top))
		abort();
	return 0;
}
