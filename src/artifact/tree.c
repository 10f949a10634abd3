/* SPDX-License-Identifier: MIT */
#include "artifact/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/tree_impl.h"
#include "base/cleanup.h"
#include "base/path.h"

void tree_xattrs_free(struct tree_xattr *xattrs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(xattrs[i].name);
		free(xattrs[i].value);
	}
	free(xattrs);
}

static void free_entry(struct tree_entry *entry)
{
	free(entry->path);
	free(entry->data);
	free(entry->from);
	tree_xattrs_free(entry->xattrs, entry->xattr_count);
}

void tree_free(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		free_entry(&tree->entries[i]);
	free(tree->entries);
	memset(tree, 0, sizeof(*tree));
}

/* debugfs, which sets the owners, takes a path a line, and lines of a bounded length. */
static int check_path(const char *path, struct error *err)
{
	if (strlen(path) > TREE_PATH_MAX)
		return error_set(err, ERR_UNSUPPORTED, "a path of more than %d bytes: %.100s...",
				 TREE_PATH_MAX, path);
	for (const unsigned char *p = (const unsigned char *)path; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			return error_set(err, ERR_UNSUPPORTED,
					 "a file name with control characters, which the "
					 "tool that sets owners cannot take: \"%.300s\"",
					 path);
	return 0;
}

static struct tree_entry *add(struct tree *tree, const char *path, mode_t mode, struct error *err)
{
	struct tree_entry *entry;

	if (check_path(path, err) < 0)
		return NULL;
	if (tree->count == tree->room) {
		size_t room = tree->room ? 2 * tree->room : 256;
		entry = reallocarray(tree->entries, room, sizeof(*entry));
		if (!entry) {
			error_errno(err, ENOMEM, "image");
			return NULL;
		}
		tree->entries = entry;
		tree->room = room;
	}
	entry = &tree->entries[tree->count];
	*entry = (struct tree_entry){.mode = mode, .time = tree->time, .path = strdup(path)};
	if (!entry->path) {
		error_errno(err, ENOMEM, "image");
		return NULL;
	}
	tree->count++;
	return entry;
}

static int set_text(char **field, const char *text, struct error *err)
{
	*field = strdup(text);
	return *field ? 0 : error_errno(err, ENOMEM, "image");
}

int tree_dir(struct tree *tree, const char *path, mode_t mode, uid_t owner, struct error *err)
{
	struct tree_entry *entry = add(tree, path, S_IFDIR | mode, err);

	if (!entry)
		return -1;
	entry->uid = owner;
	entry->gid = owner;
	return 0;
}

int tree_text(struct tree *tree, const char *path, mode_t mode, const char *text, struct error *err)
{
	struct tree_entry *entry = add(tree, path, S_IFREG | mode, err);

	return entry ? set_text(&entry->data, text, err) : -1;
}

int tree_copy(struct tree *tree, const char *path, mode_t mode, const char *from, struct error *err)
{
	struct tree_entry *entry = add(tree, path, S_IFREG | mode, err);

	return entry ? set_text(&entry->from, from, err) : -1;
}

int tree_link(struct tree *tree, const char *path, const char *target, struct error *err)
{
	struct tree_entry *entry = add(tree, path, S_IFLNK | 0777, err);

	return entry ? set_text(&entry->data, target, err) : -1;
}

int tree_add_staged(struct tree *tree, const char *path, mode_t mode, uid_t uid, gid_t gid,
		    int64_t time, struct error *err)
{
	struct tree_entry *entry = add(tree, path, mode, err);

	if (!entry)
		return -1;
	entry->uid = uid;
	entry->gid = gid;
	entry->time = time;
	entry->staged = true;
	return 0;
}

void tree_give_xattrs(struct tree *tree, struct tree_xattr *xattrs, size_t count)
{
	struct tree_entry *entry = &tree->entries[tree->count - 1];

	entry->xattrs = xattrs;
	entry->xattr_count = count;
}

static bool is_staged(const struct tree_entry *entry, int stage)
{
	const char *name = entry->path[1] ? entry->path + 1 : ".";
	struct stat st;

	if (!entry->staged)
		return true;
	return fstatat(stage, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (st.st_mode & S_IFMT) == (entry->mode & S_IFMT);
}

void tree_forget_replaced(struct tree *tree, int stage)
{
	size_t kept = 0;

	for (size_t i = 0; i < tree->count; i++) {
		if (is_staged(&tree->entries[i], stage))
			tree->entries[kept++] = tree->entries[i];
		else
			free_entry(&tree->entries[i]);
	}
	tree->count = kept;
}

static int describe(const struct tree_entry *entry, struct buf *out, struct error *err)
{
	char digest[DIGEST_TEXT] = "";

	if (entry->from && digest_file(entry->from, digest, err) < 0)
		return -1;
	if (entry->data && digest_bytes(entry->data, strlen(entry->data), digest, err) < 0)
		return -1;
	return buf_printf(out, err, "%s %o %u %u %lld %s\n", entry->path, entry->mode, entry->uid,
			  entry->gid, (long long)entry->time, digest);
}

int tree_digest(const struct tree *tree, char out[DIGEST_TEXT], struct error *err)
{
	autobuf struct buf text = BUF_INIT(0);

	for (size_t i = 0; i < tree->count; i++)
		if (describe(&tree->entries[i], &text, err) < 0)
			return -1;
	return digest_bytes(buf_bytes(&text), text.len, out, err);
}

static int stage_copy(int dir, const char *name, const char *from, struct error *err)
{
	autoclose int fd = open(from, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, errno, "%s", from);
	return path_clone_file_at(fd, dir, name, 0600, NULL, err);
}

static int stage_entry(const struct tree_entry *entry, int dir, struct error *err)
{
	const char *name = entry->path + 1;

	/* The root is there. */
	if (!*name)
		return 0;
	if (S_ISDIR(entry->mode))
		return mkdirat(dir, name, 0700) < 0 ? error_errno(err, errno, "%s", entry->path)
						    : 0;
	if (S_ISLNK(entry->mode))
		return symlinkat(entry->data, dir, name) < 0
			       ? error_errno(err, errno, "%s", entry->path)
			       : 0;
	if (entry->from)
		return stage_copy(dir, name, entry->from, err);
	return path_replace_file_at(dir, name, entry->data, strlen(entry->data), 0600, PATH_NO_SYNC,
				    err);
}

int tree_stage(const struct tree *tree, const char *dir, struct error *err)
{
	autoclose int fd = path_open_dir(dir, err);

	if (fd < 0)
		return -1;
	for (size_t i = 0; i < tree->count; i++)
		if (stage_entry(&tree->entries[i], fd, err) < 0)
			return -1;
	return 0;
}
