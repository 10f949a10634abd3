/* SPDX-License-Identifier: MIT */
/*
 * From the tree in memory to a directory that mke2fs copies. Every directory on the way to a name
 * is one that was made here, so that no link of the image is followed. What is staged is ours to
 * read and write; owner, mode, time and attributes are listed, for debugfs to set what could not be
 * staged.
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/progress.h"
#include "artifact/rootfs_impl.h"
#include "artifact/tree_impl.h"
#include "base/cleanup.h"

struct staging {
	const struct rootfs *fs;
	int stage;
	struct tree *tree;
	struct error *err;
	char path[ROOTFS_PATH_MAX + 2]; /* with the leading '/' */
	size_t len;
	int result;
};

static int make_file(const struct staging *s, const struct rootfs_file *file)
{
	const char *name = s->path + 1;
	char data[24];

	/* mke2fs gives each name of a symbolic link an inode of its own. */
	if (S_ISLNK(file->mode))
		return symlinkat(file->target, s->stage, name);
	if (file->staged)
		return linkat(s->stage, file->staged + 1, s->stage, name, 0);
	if (S_ISFIFO(file->mode))
		return mkfifoat(s->stage, name, 0600);
	rootfs_data_name(file, data);
	return renameat(s->fs->data_dir, data, s->stage, name);
}

static int list(struct staging *s, struct rootfs_file *file)
{
	const char *path = s->len ? s->path : "/";

	if (tree_add_staged(s->tree, path, file->mode, file->uid, file->gid, file->time, s->err) <
	    0)
		return -1;
	tree_give_xattrs(s->tree, file->xattrs, file->xattr_count);
	file->xattrs = NULL;
	file->xattr_count = 0;
	return 0;
}

/* What mke2fs copies need not be set again, one command a field: modes that we can work with, and
 * times. Where this fails, debugfs does it. */
static void settle(const struct staging *s, const struct rootfs_file *file)
{
	const char *name = s->len ? s->path + 1 : ".";
	const struct timespec times[] = {{.tv_sec = file->time}, {.tv_sec = file->time}};
	mode_t ours = S_ISDIR(file->mode) ? 0700 : 0600;

	if (!S_ISLNK(file->mode) && (file->mode & 07000) == 0 && (file->mode & ours) == ours &&
	    fchmodat(s->stage, name, file->mode & 0777, 0) < 0)
		return;
	(void)utimensat(s->stage, name, times, AT_SYMLINK_NOFOLLOW);
}

static int stage_node(struct staging *s, struct rootfs_node *node);

static void on_child(const void *item, VISIT visit, void *data)
{
	struct staging *s = data;
	struct rootfs_node *node = *(struct rootfs_node *const *)item;
	size_t len = s->len;

	if (s->result < 0 || (visit != postorder && visit != leaf))
		return;
	s->len += (size_t)snprintf(s->path + len, sizeof(s->path) - len, "/%s", node->name);
	s->result = stage_node(s, node);
	s->len = len;
	s->path[len] = '\0';
}

static int stage_dir(struct staging *s, struct rootfs_node *node)
{
	if (s->len && mkdirat(s->stage, s->path + 1, 0700) < 0)
		return error_errno(s->err, errno, "%s", s->path);
	if (list(s, node->file) < 0)
		return -1;
	twalk_r(node->children, on_child, s);
	settle(s, node->file);
	return s->result;
}

static int stage_node(struct staging *s, struct rootfs_node *node)
{
	struct rootfs_file *file = node->file;
	bool listed = file->staged && !S_ISLNK(file->mode);

	if (artifact_check_signal(s->err) < 0)
		return -1;
	progress_draw();
	if (S_ISDIR(file->mode))
		return stage_dir(s, node);
	if (make_file(s, file) < 0)
		return error_errno(s->err, errno, "%s", s->path);
	if (listed)
		return 0;
	if (!file->staged && !(file->staged = strdup(s->path)))
		return error_errno(s->err, ENOMEM, "image");
	settle(s, file);
	return list(s, file);
}

int rootfs_stage(struct rootfs *fs, int stage, struct tree *tree, struct error *err)
{
	struct staging s = {.fs = fs, .stage = stage, .tree = tree, .err = err};

	return stage_dir(&s, &fs->root);
}
