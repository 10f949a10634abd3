/* SPDX-License-Identifier: MIT */
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
#include "base/tree_stream.h"
#include "base/tree_wire.h"

struct sender {
	int to;
	dev_t device;
	char path[TREE_PATH_MAX + 1]; /* of the entry at hand */
	uint8_t chunk[TREE_CHUNK];
};

/* Not blocking: a FIFO must not hold us. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int put(struct sender *s, enum tree_type type, const struct stat *st, const char *text,
	       struct error *err)
{
	return tree_put_entry(s->to, type, st ? st->st_mode & 07777 : 0, st ? st->st_mtime : 0,
			      s->path, text, err);
}

static int skip(struct sender *s, const char *why, struct error *err)
{
	return put(s, TREE_SKIPPED, NULL, why, err);
}

static int send_file(struct sender *s, int fd, const struct stat *st, struct error *err)
{
	ssize_t n;

	if (put(s, TREE_FILE, st, "", err) < 0)
		return -1;
	while ((n = read(fd, s->chunk, sizeof(s->chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			error_errno(err, errno, "%.300s", s->path);
			(void)tree_put_length(s->to, TREE_BREAK, NULL);
			return -1;
		}
		if (tree_put_length(s->to, (uint32_t)n, err) < 0 ||
		    fd_write_all(s->to, s->chunk, (size_t)n, err) < 0)
			return -1;
	}
	return tree_put_length(s->to, 0, err);
}

static int send_link(struct sender *s, int dir, const char *name, const struct stat *st,
		     struct error *err)
{
	char target[TREE_PATH_MAX + 1];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return error_errno(err, errno, "%.300s", s->path);
	target[n] = '\0';
	return put(s, TREE_LINK, st, target, err);
}

static int send_dir(struct sender *s, int fd, const struct stat *st, int depth, struct error *err);

static int send_opened(struct sender *s, int dir, const char *name, int depth, struct error *err)
{
	autoclose int fd = openat(dir, name, OPEN_FLAGS | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 && errno == EACCES)
		return skip(s, "permission denied", err);
	if (fd < 0 && errno == ENOENT)
		return 0; /* it has gone since */
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%.300s", s->path);
	if (S_ISREG(st.st_mode))
		return send_file(s, fd, &st, err);
	if (!S_ISDIR(st.st_mode))
		return skip(s, "no file, directory or link", err);
	if (st.st_dev != s->device)
		return skip(s, "another file system", err);
	if (depth >= TREE_DEPTH_MAX)
		return skip(s, "too deep", err);
	return send_dir(s, steal_fd(&fd), &st, depth, err);
}

static int send_entry(struct sender *s, int dir, const char *name, int depth, struct error *err)
{
	size_t len = strlen(s->path);
	struct stat st;
	int status;

	if (len + 1 + strlen(name) > TREE_PATH_MAX)
		return skip(s, "a path that is too long is in it", err);
	snprintf(s->path + len, sizeof(s->path) - len, "%s%s", len ? "/" : "", name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		status = errno == ENOENT ? 0 : error_errno(err, errno, "%.300s", s->path);
	else if (S_ISLNK(st.st_mode))
		status = send_link(s, dir, name, &st, err);
	else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		status = send_opened(s, dir, name, depth, err);
	else
		status = skip(s, "no file, directory or link", err);
	s->path[len] = '\0';
	return status;
}

/* Takes over fd. */
static int send_dir(struct sender *s, int fd, const struct stat *st, int depth, struct error *err)
{
	autodir DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		error_errno(err, errno, "%.300s", s->path);
		close(fd);
		return -1;
	}
	if (put(s, TREE_DIR, st, "", err) < 0)
		return -1;
	for (errno = 0; (entry = readdir(dir)); errno = 0) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (send_entry(s, dirfd(dir), entry->d_name, depth + 1, err) < 0)
			return -1;
	}
	return errno ? error_errno(err, errno, "%.300s", s->path) : 0;
}

static int open_root(int root_fd, const char *path, bool confined, struct error *err)
{
	struct open_how how = {.flags = OPEN_FLAGS,
			       .resolve = confined ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS : 0};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? error_errno(err, errno, "%.300s", path) : fd;
}

static int send_root(struct sender *s, int root_fd, const char *path, bool confined,
		     struct error *err)
{
	autoclose int fd = open_root(root_fd, path, confined, err);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "%.300s", path);
	s->device = st.st_dev;
	if (S_ISREG(st.st_mode))
		return send_file(s, fd, &st, err);
	if (S_ISDIR(st.st_mode))
		return send_dir(s, steal_fd(&fd), &st, 0, err);
	return error_set(err, ERR_INVALID, "%.300s is neither a file nor a directory", path);
}

int tree_send(int root_fd, const char *path, bool confined, int to, struct error *err)
{
	autofree struct sender *s = calloc(1, sizeof(*s));
	struct error why = {0};

	if (!s)
		return error_errno(err, ENOMEM, "files");
	s->to = to;
	if (send_root(s, root_fd, path, confined, &why) == 0) {
		s->path[0] = '\0';
		return put(s, TREE_END, NULL, "", err);
	}
	s->path[0] = '\0';
	(void)put(s, TREE_ERROR, NULL, why.msg, NULL);
	if (err)
		*err = why;
	return -1;
}
