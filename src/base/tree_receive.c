/* SPDX-License-Identifier: MIT */
/*
 * What comes is hostile. Nothing is ever opened by a name that could be a link of the sender's: each
 * parent is opened below the root that we made, with links refused; each entry is made anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree_stream.h"
#include "base/tree_wire.h"

struct receiver {
	int from;
	const struct tree_receiver *options;
	const struct tree_target *target;
	int root; /* the directory that was made; -1: none */
	struct tree_entry_head entry;
	uint8_t chunk[TREE_CHUNK];
};

static int broken(struct error *err)
{
	return error_set(err, ERR_IO, "the stream of files is damaged");
}

static void tell_skipped(const struct receiver *r, const char *why)
{
	if (r->options->skipped)
		r->options->skipped(r->options->data, r->entry.path, why);
}

/* Plain components, none of them "", "." or "..". */
static bool is_clean(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 0 || len > 255 || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += len;
		if (*path && !*++path)
			return false;
	}
	return true;
}

/* The directory that the entry is to be in; *name is its last component. */
static int open_parent(struct receiver *r, char **name, struct error *err)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
	char *slash = strrchr(r->entry.path, '/');
	int fd;

	*name = slash ? slash + 1 : r->entry.path;
	if (slash)
		*slash = '\0';
	fd = (int)syscall(SYS_openat2, r->root, slash ? r->entry.path : ".", &how, sizeof(how));
	if (fd < 0)
		error_errno(err, errno, "%.300s", r->entry.path);
	if (slash)
		*slash = '/';
	return fd;
}

static int receive_data(struct receiver *r, int to, struct error *err)
{
	uint32_t len = 0;

	for (;;) {
		if (tree_get_length(r->from, &len, err) < 0)
			return -1;
		if (len == TREE_BREAK) {
			if (tree_get_entry(r->from, &r->entry, err) < 0)
				return -1;
			return r->entry.type == TREE_ERROR
				       ? error_set(err, ERR_IO, "%s", r->entry.text)
				       : broken(err);
		}
		if (len == 0)
			return 0;
		if (fd_read_exact(r->from, r->chunk, len, err) < 0 ||
		    fd_write_all(to, r->chunk, len, err) < 0)
			return -1;
	}
}

static void set_times(int fd, int64_t mtime)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = (time_t)mtime}};

	(void)futimens(fd, times);
}

/* A new file under that name, whole. Set-id bits are never taken over. */
static int make_file(struct receiver *r, int dir, const char *name, struct error *err)
{
	uint32_t mode = r->entry.mode & 0777;
	int64_t mtime = r->entry.mtime;
	autoclose int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_errno(err, errno, "%s", name);
	if (receive_data(r, fd, err) < 0 || fchmod(fd, mode) < 0) {
		if (err && !err->code)
			error_errno(err, errno, "%s", name);
		(void)unlinkat(dir, name, 0);
		return -1;
	}
	set_times(fd, mtime);
	return 0;
}

/* Leading ".." lead through directories that we made; what follows them goes down, through links of
 * which the same is true. So such a link stays in the tree, whatever the others are. */
static bool stays_inside(const char *path, const char *target)
{
	size_t depth = 0;

	if (*target == '/' || !*target)
		return false;
	for (const char *p = path; *p; p++)
		depth += *p == '/';
	for (;;) {
		size_t len = strcspn(target, "/");

		if (len == 2 && target[0] == '.' && target[1] == '.') {
			if (depth-- == 0)
				return false;
		} else if (len > 0 && !(len == 1 && target[0] == '.')) {
			break;
		}
		if (!target[len])
			return true;
		target += len + 1;
	}
	for (const char *p = target; *p; p += strcspn(p, "/"), p += *p == '/')
		if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || !p[2]))
			return false;
	return true;
}

static int make_link(struct receiver *r, int dir, const char *name, struct error *err)
{
	if (r->options->links_stay_inside && !stays_inside(r->entry.path, r->entry.text)) {
		tell_skipped(r, "a link that leads out of what is copied");
		return 0;
	}
	if (symlinkat(r->entry.text, dir, name) < 0)
		return error_errno(err, errno, "%.300s", r->entry.path);
	return 0;
}

static int make_entry(struct receiver *r, struct error *err)
{
	char *name = NULL;
	autoclose int dir = -1;

	if (r->root < 0 || !is_clean(r->entry.path))
		return broken(err);
	dir = open_parent(r, &name, err);
	if (dir < 0)
		return -1;
	if (r->entry.type == TREE_FILE)
		return make_file(r, dir, name, err);
	if (r->entry.type == TREE_LINK)
		return make_link(r, dir, name, err);
	/* Ours to write in, whatever it may be elsewhere. */
	if (mkdirat(dir, name, (r->entry.mode & 0777) | 0700) < 0)
		return error_errno(err, errno, "%.300s", r->entry.path);
	return 0;
}

/* A regular file takes the place of another by a rename, when it is whole. */
static int receive_root_file(struct receiver *r, struct error *err)
{
	const struct tree_target *target = r->target;
	char temporary[64];

	snprintf(temporary, sizeof(temporary), ".microagent-%d-%lx", (int)getpid(),
		 (unsigned long)(uintptr_t)r);
	if (make_file(r, target->dir, temporary, err) < 0)
		return -1;
	if (renameat(target->dir, temporary, target->dir, target->name) == 0)
		return 0;
	error_errno(err, errno, "%s", target->name);
	(void)unlinkat(target->dir, temporary, 0);
	return -1;
}

static int receive_root_dir(struct receiver *r, struct error *err)
{
	const struct tree_target *target = r->target;

	if (mkdirat(target->dir, target->name, (r->entry.mode & 0777) | 0700) < 0)
		return error_errno(err, errno, "%s", target->name);
	r->root =
		openat(target->dir, target->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return r->root < 0 ? error_errno(err, errno, "%s", target->name) : 0;
}

static int receive_root(struct receiver *r, struct error *err)
{
	if (tree_get_entry(r->from, &r->entry, err) < 0)
		return -1;
	if (r->entry.type == TREE_ERROR)
		return error_set(err, ERR_IO, "%s", r->entry.text);
	if (r->entry.path[0])
		return broken(err);
	if (r->entry.type == TREE_FILE)
		return receive_root_file(r, err);
	if (r->entry.type == TREE_DIR)
		return receive_root_dir(r, err);
	return broken(err);
}

static int receive_rest(struct receiver *r, struct error *err)
{
	for (;;) {
		if (tree_get_entry(r->from, &r->entry, err) < 0)
			return -1;
		switch (r->entry.type) {
		case TREE_END:
			return 0;
		case TREE_ERROR:
			return error_set(err, ERR_IO, "%s", r->entry.text);
		case TREE_SKIPPED:
			tell_skipped(r, r->entry.text);
			break;
		case TREE_FILE:
		case TREE_DIR:
		case TREE_LINK:
			if (make_entry(r, err) < 0)
				return -1;
		}
	}
}

int tree_receive(int from, const struct tree_target *target, const struct tree_receiver *receiver,
		 struct error *err)
{
	autofree struct receiver *r = calloc(1, sizeof(*r));
	struct error why = {0};
	int status;

	if (!r)
		return error_errno(err, ENOMEM, "files");
	r->from = from;
	r->options = receiver;
	r->target = target;
	r->root = -1;
	status = receive_root(r, &why);
	if (status == 0)
		status = receive_rest(r, &why);
	if (r->root >= 0)
		close(r->root);
	if (status < 0 && r->root >= 0)
		(void)path_remove_tree_at(target->dir, target->name, NULL);
	if (status < 0 && err)
		*err = why;
	return status;
}

/* --- where to ----------------------------------------------------------------------------------- */

static int open_dir(int root_fd, const char *path, bool confined)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			       .resolve = confined ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS : 0};

	return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

static int set_name(struct tree_target *target, const char *name, struct error *err)
{
	struct stat st;

	if (!*name || strlen(name) > 255 || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return error_set(err, ERR_INVALID, "\"%.255s\" is no name for a file", name);
	snprintf(target->name, sizeof(target->name), "%s", name);
	if (fstatat(target->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", name);
	if (S_ISLNK(st.st_mode))
		return error_set(err, ERR_CONFLICT,
				 "%s is a symbolic link, which is not written through", name);
	if (S_ISREG(st.st_mode))
		return 0;
	return error_set(err, ERR_CONFLICT, "%s is there already and no regular file", name);
}

/* The directory of path, "." or "/" where it names none. */
static int open_parent_of(int root_fd, const char *path, bool confined, const char **last,
			  struct error *err)
{
	const char *slash = strrchr(path, '/');
	autofree char *parent = NULL;
	int fd;

	*last = slash ? slash + 1 : path;
	parent = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	if (!parent)
		return error_errno(err, ENOMEM, "files");
	fd = open_dir(root_fd, parent, confined);
	return fd < 0 ? error_errno(err, errno, "%.300s", parent) : fd;
}

int tree_target_open(int root_fd, const char *path, bool confined, const char *name_within,
		     struct tree_target *out, struct error *err)
{
	struct tree_target target = {.dir = open_dir(root_fd, path, confined)};
	const char *name = name_within;

	if (target.dir < 0)
		target.dir = open_parent_of(root_fd, path, confined, &name, err);
	if (target.dir < 0)
		return -1;
	if (set_name(&target, name, err) < 0) {
		close(target.dir);
		return -1;
	}
	*out = target;
	return 0;
}

void tree_target_close(struct tree_target *target)
{
	if (target->dir >= 0)
		close(target->dir);
	target->dir = -1;
}
