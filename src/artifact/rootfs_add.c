/* SPDX-License-Identifier: MIT */
/* What is added to a rootfs without an archive. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact/rootfs_impl.h"

int rootfs_add(struct rootfs *fs, const char *path, mode_t mode, uid_t owner, const char *text,
	       struct error *err)
{
	struct rootfs_file *file = rootfs_file_new(mode, err);

	if (!file)
		return -1;
	file->uid = owner;
	file->gid = owner;
	file->time = fs->time;
	if (text && !(file->text = strdup(text))) {
		rootfs_drop(fs, file);
		return error_errno(err, ENOMEM, "image");
	}
	file->bytes = text && S_ISREG(mode) ? strlen(text) : 0;
	return rootfs_put(fs, path, file, err);
}

int rootfs_add_copy(struct rootfs *fs, const char *path, mode_t mode, const char *from,
		    struct error *err)
{
	struct rootfs_file *file;
	struct stat st;

	if (stat(from, &st) < 0)
		return error_errno(err, errno, "%s", from);
	file = rootfs_file_new(S_IFREG | mode, err);
	if (!file)
		return -1;
	file->time = fs->time;
	file->bytes = (uint64_t)st.st_size;
	file->from = strdup(from);
	if (!file->from) {
		rootfs_drop(fs, file);
		return error_errno(err, ENOMEM, "image");
	}
	return rootfs_put(fs, path, file, err);
}
