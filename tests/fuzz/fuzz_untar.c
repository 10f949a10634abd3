/* SPDX-License-Identifier: MIT */
/*
 * An archive for config.bundles as a hostile maker may write it: whatever it holds, nothing is made
 * or changed beside the directory that it is unpacked into, and what is listed is there as what it
 * is said to be, reached by no link.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "artifact/tree.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "fuzz_directory.h"
#include "tar_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BYTES_MAX (1u << 20)
#define COUNT_MAX 300
#define BLOCK 4096

/* No link is on the way to what is listed, and it is what the list says. */
static void check_entry(const struct tree_entry *entry, int stage)
{
	const struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};
	const char *name = entry->path[1] ? entry->path + 1 : ".";
	autoclose int fd = (int)syscall(SYS_openat2, stage, name, &how, sizeof(how));
	struct stat st;

	if (entry->path[0] != '/' || fd < 0 || fstat(fd, &st) < 0 ||
	    (st.st_mode & S_IFMT) != (entry->mode & S_IFMT))
		abort();
}

static void check_list(const struct tree *tree, const char *into)
{
	autoclose int stage = path_open_dir(into, NULL);

	if (stage < 0 || tree->count > COUNT_MAX || tree->bytes > BYTES_MAX + BLOCK)
		abort();
	for (size_t i = 0; i < tree->count; i++)
		check_entry(&tree->entries[i], stage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tar_input in = {data, data + size};
	autobuf struct buf archive = BUF_INIT(0);
	auto_tree struct tree tree = {.bytes_max = BYTES_MAX, .count_max = COUNT_MAX};
	char name[32], into[sizeof(fuzz_base) + 4];
	struct error err = {0};
	int top = fuzz_directory();
	struct stat st;

	tar_build(&in, &archive);
	autoclose int fd = fd_memfd("archive", buf_bytes(&archive), archive.len, NULL);
	if (fd < 0 || mkdirat(top, "in", 0700) < 0)
		abort();
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	snprintf(into, sizeof(into), "%s/in", fuzz_base);
	if (tree_untar(&tree, name, into, &err) == 0)
		check_list(&tree, into);
	else if (!err.msg[0])
		abort();
	if (path_remove_tree_at(top, "in", NULL) < 0)
		abort();
	/* Two links, "." and its own name, when no directory is in it any more. */
	if (fstat(top, &st) < 0 || st.st_nlink != 2 || !fuzz_outside_is_same(top))
		abort();
	return 0;
}
