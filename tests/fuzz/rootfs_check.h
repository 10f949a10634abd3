/* SPDX-License-Identifier: MIT */
/*
 * Checks that hold for a rootfs from any archive: its counts match its contents, each name is a
 * valid one of a directory, and the library makes a file system of it.
 */
#ifndef ROOTFS_CHECK_H
#define ROOTFS_CHECK_H

#include <dirent.h>
#include <fcntl.h>
#include <search.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/ext4.h"
#include "artifact/rootfs_impl.h"
#include "artifact/tool.h"
#include "base/cleanup.h"
#include "fuzz_directory.h"

#define ROOTFS_BLOCK UINT64_C(4096)

struct rootfs_counts {
	uint64_t bytes, names;
};

static inline void rootfs_check_node(const struct rootfs_node *node, struct rootfs_counts *counts);

static inline void rootfs_check_child(const void *item, VISIT visit, void *data)
{
	if (visit == postorder || visit == leaf)
		rootfs_check_node(*(struct rootfs_node *const *)item, data);
}

static inline void rootfs_check_node(const struct rootfs_node *node, struct rootfs_counts *counts)
{
	const struct rootfs_file *file = node->file;
	uint64_t bytes = (file->bytes + ROOTFS_BLOCK - 1) & ~(ROOTFS_BLOCK - 1);

	if (node->parent) {
		counts->names++;
		if (!node->name[0] || strchr(node->name, '/') || strcmp(node->name, ".") == 0 ||
		    strcmp(node->name, "..") == 0 || strlen(node->name) > ROOTFS_NAME_MAX ||
		    node->path_len > ROOTFS_PATH_MAX)
			abort();
	}
	if (S_ISDIR(file->mode))
		counts->bytes += file->counted ? ROOTFS_BLOCK : 0;
	else if (S_ISREG(file->mode))
		counts->bytes += bytes / file->names;
	if (node->children && !S_ISDIR(file->mode))
		abort();
	twalk_r(node->children, rootfs_check_child, counts);
}

/* Parts of a file with many names are rounded down. */
static inline void rootfs_check(const struct rootfs *fs)
{
	struct rootfs_counts counts = {0};

	rootfs_check_node(&fs->root, &counts);
	if (counts.names != fs->count || counts.bytes > fs->bytes ||
	    fs->bytes - counts.bytes > counts.names)
		abort();
}

static const struct ext4_spec rootfs_image = {.label = "fuzz",
					      .uuid = "6d696372-6f61-4765-8e74-2d7465737400",
					      .size = 16 << 20,
					      .journal_mib = 4,
					      .inodes = 1024,
					      .time = 1577836800};

/* Makes an empty file system, which is copied for each input. */
static inline int rootfs_template(void)
{
	static int fd = -1;
	char path[sizeof(fuzz_base) + 16];
	struct error err = {0};

	if (fd >= 0)
		return fd;
	struct rootfs *empty = rootfs_new(-1, 0, &rootfs_unbounded, &err);
	snprintf(path, sizeof(path), "%s/template", fuzz_base);
	if (!empty || tool_extend_path(&err) < 0 ||
	    ext4_make(&rootfs_image, empty, path, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
	rootfs_free(empty);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || unlink(path) < 0)
		abort();
	return fd;
}

/* Checks one input in eight, since this takes long. The attributes may be more than fit, or lists
 * that are not valid. */
static inline void rootfs_check_image(struct rootfs *fs, int top, size_t input)
{
	char path[sizeof(fuzz_base) + 16];
	struct error err = {0};

	if (input % 8 != 0)
		return;
	snprintf(path, sizeof(path), "%s/image", fuzz_base);
	if (path_clone_file_at(rootfs_template(), top, "image", 0600, NULL, &err) < 0)
		abort();
	if (ext4_write(&rootfs_image, fs, path, &err) < 0 &&
	    !strstr(err.msg, "extended attributes") && err.code != ERR_UNSUPPORTED) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
	if (unlinkat(top, "image", 0) < 0)
		abort();
}

static inline size_t rootfs_entries_of(int dir)
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

/* Opens the directory "data" for one input; rootfs_check_end() removes it. */
static inline int rootfs_check_begin(int top)
{
	int fd = path_open_dir_at(top, "data", true, 0700, NULL);

	if (fd < 0)
		abort();
	return fd;
}

/* Requires that no contents are left, and that nothing else was made or changed. */
static inline void rootfs_check_end(int top, int data)
{
	if (rootfs_entries_of(data) != 0)
		abort();
	close(data);
	path_remove_tree_at(top, "data", NULL);
	if (rootfs_entries_of(top) != 1 || !fuzz_outside_is_same(top))
		abort();
}

#endif
