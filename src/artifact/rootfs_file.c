/* SPDX-License-Identifier: MIT */
/* Implements the files of a rootfs: how much each file counts in the bounds, and where its contents
 * are. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/rootfs_impl.h"
#include "base/cleanup.h"

#define BLOCK UINT64_C(4096)

const struct rootfs_bounds rootfs_unbounded = {
	.bytes = UINT64_MAX, .count = UINT64_MAX, .text = UINT64_MAX};

static uint64_t blocks_of(const struct rootfs_file *file)
{
	return S_ISDIR(file->mode) ? BLOCK : (file->bytes + BLOCK - 1) & ~(BLOCK - 1);
}

/* This bound is needed because a layer of a few MiB can have a million names of 4000 bytes each. */
int rootfs_take_text(struct rootfs *fs, uint64_t bytes, struct error *err)
{
	if (bytes > fs->bounds.text - fs->text)
		return error_set(
			err, ERR_INVALID,
			"the names, links and attributes of the archive's files have more than %llu bytes together, the most that microagent takes: make the archive with fewer files",
			(unsigned long long)fs->bounds.text);
	fs->text += bytes;
	return 0;
}

int rootfs_count_file(struct rootfs *fs, struct rootfs_file *file, struct error *err)
{
	uint64_t memory = file->text ? strlen(file->text) : 0;

	if (file->counted)
		return 0;
	for (size_t i = 0; i < file->xattr_count; i++)
		memory += strlen(file->xattrs[i].name) + file->xattrs[i].len;
	if (rootfs_take_text(fs, memory, err) < 0)
		return -1;
	file->counted = true;
	file->memory = memory;
	fs->bytes += blocks_of(file);
	return 0;
}

struct rootfs_file *rootfs_file_new(mode_t mode, struct error *err)
{
	struct rootfs_file *file = calloc(1, sizeof(*file));

	if (!file) {
		error_errno(err, ENOMEM, "image");
		return NULL;
	}
	file->mode = mode;
	file->names = 1;
	return file;
}

static void data_name(const struct rootfs_file *file, char out[24])
{
	snprintf(out, 24, "%" PRIu64, file->data);
}

void rootfs_remove_data(const struct rootfs *fs, struct rootfs_file *file)
{
	char name[24];

	if (!file->data || fs->source)
		return;
	data_name(file, name);
	unlinkat(fs->data_dir, name, 0);
	file->data = 0;
}

void rootfs_drop(struct rootfs *fs, struct rootfs_file *file)
{
	if (!file || --file->names > 0)
		return;
	if (file->counted) {
		fs->bytes -= blocks_of(file);
		fs->text -= file->memory;
	}
	rootfs_remove_data(fs, file);
	for (size_t i = 0; i < file->xattr_count; i++) {
		free(file->xattrs[i].name);
		free(file->xattrs[i].value);
	}
	free(file->xattrs);
	free(file->text);
	free(file->from);
	free(file);
}

struct tar_bound *rootfs_unpacked(struct rootfs *fs)
{
	return &fs->unpacked;
}

uint64_t *rootfs_bytes_behind(struct rootfs *fs)
{
	return &fs->behind;
}

int rootfs_open_data(struct rootfs *fs, struct rootfs_file *file, uint64_t bytes, struct error *err)
{
	char name[24];
	int fd;

	if (bytes > fs->bounds.bytes || fs->bytes + bytes > fs->bounds.bytes) {
		error_set(err, ERR_INVALID, "the archive unpacks to more than %llu MiB",
			  (unsigned long long)(fs->bounds.bytes >> 20));
		return error_reason(err, REASON_IMAGE_TOO_SMALL, "");
	}
	file->data = ++fs->last_data;
	file->bytes = bytes;
	data_name(file, name);
	fd = openat(fs->data_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? error_errno(err, errno, "unpacking") : fd;
}

int rootfs_read_data(const struct rootfs *fs, const struct rootfs_file *file, struct error *err)
{
	char name[24];
	int fd;

	data_name(file, name);
	fd = file->from ? open(file->from, O_RDONLY | O_CLOEXEC)
			: openat(fs->data_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? error_errno(err, errno, "%s", file->from ? file->from : "unpacking") : fd;
}
