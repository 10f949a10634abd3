/* SPDX-License-Identifier: MIT */
/*
 * A Debian package as a hostile maker may write it. Whatever it contains, only regular files and
 * directories are made. They are below the given directory, have the wanted names, and are no more
 * than allowed. An input that begins with ar's magic is the package itself. Any other input is used
 * to make the archive of its files.
 */
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/deb.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "fuzz_directory.h"
#include "tar_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BYTES_MAX (1u << 20)
#define FILES_MAX 100

static const char *const wanted[] = {"boot/vmlinuz-", "lib/modules/", NULL};
static struct {
	uint64_t bytes, files;
	size_t prefix; /* of a path: the directory and a '/' */
} found;

static void put_member(struct buf *out, const char *name, const struct buf *data)
{
	char header[64];

	snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0, "100644",
		 data->len);
	tar_append(out, header, 60);
	tar_append(out, buf_bytes(data), data->len);
	if (data->len & 1)
		tar_append(out, "\n", 1);
}

static void make_package(const uint8_t *data, size_t size, struct buf *out)
{
	struct tar_input in = {data, data + size};
	autobuf struct buf files = BUF_INIT(0);

	if (size >= 8 && memcmp(data, "!<arch>\n", 8) == 0) {
		tar_append(out, data, size);
		return;
	}
	tar_build(&in, &files);
	tar_append(out, "!<arch>\n", 8);
	put_member(out, "data.tar", &files);
}

static bool is_wanted_path(const char *path)
{
	return strncmp(path, wanted[0], strlen(wanted[0])) == 0 ||
	       strncmp(path, wanted[1], strlen(wanted[1])) == 0;
}

static int look_at(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)type;
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		abort();
	if (S_ISDIR(st->st_mode))
		return 0;
	if (at->level == 0 || st->st_nlink != 1 || !is_wanted_path(path + found.prefix))
		abort();
	found.bytes += (uint64_t)st->st_size;
	found.files++;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autobuf struct buf package = BUF_INIT(0);
	char path[sizeof(fuzz_base) + 8];
	struct error err = {0};
	int top = fuzz_directory();

	limit_set(LIMIT_PACKAGE_BYTES, BYTES_MAX);
	limit_set(LIMIT_PACKAGE_FILES, FILES_MAX);
	make_package(data, size, &package);
	snprintf(path, sizeof(path), "%s/into", fuzz_base);
	autoclose int into = path_open_dir_at(top, "into", true, 0700, &err);
	autoclose int fd = fd_memfd("package", buf_bytes(&package), package.len, NULL);
	if (into < 0 || fd < 0)
		abort();
	if (deb_unpack_here(fd, into, wanted, &err) < 0 && !err.msg[0])
		abort();
	found.bytes = found.files = 0;
	found.prefix = strlen(path) + 1;
	if (nftw(path, look_at, 16, FTW_PHYS) != 0 || found.bytes > BYTES_MAX ||
	    found.files > FILES_MAX || !fuzz_outside_is_same(top))
		abort();
	if (path_remove_tree_at(top, "into", NULL) < 0)
		abort();
	return 0;
}
