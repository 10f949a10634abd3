/* SPDX-License-Identifier: MIT */
#include "guest/files/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The largest number of links that one walk follows, which is also the kernel's own limit
 * (path_resolution(7)). */
#define LINKS_MAX 40
#define PLACE (O_PATH | O_NOFOLLOW | O_CLOEXEC)

struct walk {
	const struct walk_rule *rule;
	int root;
	int links;	     /* how many links were followed so far */
	char rest[PATH_MAX]; /* the components of the path that are not resolved yet */
	struct walked at;
};

static int too_long(const struct walk *walk, struct error *err)
{
	return error_errno(err, ENAMETOOLONG, "%.300s", walk->at.path);
}

static int begin_at_root(struct walk *walk, struct error *err)
{
	int fd = openat(walk->root, ".", PLACE | O_DIRECTORY);

	if (fd < 0)
		return error_errno(err, errno, "/");
	cleanup_close(&walk->at.fd);
	walk->at.fd = fd;
	walk->at.path[0] = '\0';
	return 0;
}

static int put_before_rest(struct walk *walk, const char *path, struct error *err)
{
	char whole[2 * PATH_MAX];
	int len = snprintf(whole, sizeof(whole), "%s/%s", path, walk->rest);

	if (len < 0 || (size_t)len >= sizeof(walk->rest))
		return too_long(walk, err);
	memcpy(walk->rest, whole, (size_t)len + 1);
	return 0;
}

static int follow_link(struct walk *walk, int link, const char *name, const struct stat *st,
		       struct error *err)
{
	char shown[PATH_MAX], target[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
	struct stat dir;

	if (n < 0 || fstat(walk->at.fd, &dir) < 0)
		return error_errno(err, errno, "%.300s", name);
	target[n] = '\0';
	if ((size_t)snprintf(shown, sizeof(shown), "%s/%s", walk->at.path, name) >= sizeof(shown))
		return too_long(walk, err);
	if (++walk->links > LINKS_MAX)
		return error_errno(err, ELOOP, "%.300s", shown);
	if (walk->rule->follow(walk->rule->data, shown, st, &dir, err) < 0 ||
	    put_before_rest(walk, target, err) < 0)
		return -1;
	return target[0] == '/' ? begin_at_root(walk, err) : 0;
}

static int go_on(struct walk *walk, const char *name, struct error *err)
{
	char *last = strrchr(walk->at.path, '/');
	size_t len = strlen(walk->at.path);
	struct stat st;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		/* Resolves the parent directory again from the root, since the kernel's ".." could
		 * lead out of the root. If a component of the parent's path was meanwhile replaced
		 * by a link, the rule of the caller decides about the link. */
		if (last)
			*last = '\0';
		return put_before_rest(walk, walk->at.path, err) < 0 ? -1
								     : begin_at_root(walk, err);
	}
	autoclose int fd = openat(walk->at.fd, name, PLACE);
	if (fd < 0 && errno == ENOENT && walk->rule->make &&
	    (mkdirat(walk->at.fd, name, 0755) == 0 || errno == EEXIST))
		fd = openat(walk->at.fd, name, PLACE);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%.300s/%.100s", walk->at.path, name);
	if (S_ISLNK(st.st_mode))
		return follow_link(walk, fd, name, &st, err);
	if (len + 1 + strlen(name) >= sizeof(walk->at.path))
		return too_long(walk, err);
	snprintf(walk->at.path + len, sizeof(walk->at.path) - len, "/%s", name);
	cleanup_close(&walk->at.fd);
	walk->at.fd = steal_fd(&fd);
	return 0;
}

static int walk_all(struct walk *walk, const char *path, struct error *err)
{
	char name[NAME_MAX + 1];

	if (begin_at_root(walk, err) < 0 || put_before_rest(walk, path, err) < 0)
		return -1;
	for (;;) {
		const char *from = walk->rest + strspn(walk->rest, "/");
		size_t len = strcspn(from, "/");

		if (len == 0)
			return 0;
		if (len > NAME_MAX)
			return too_long(walk, err);
		memcpy(name, from, len);
		name[len] = '\0';
		memmove(walk->rest, from + len, strlen(from + len) + 1);
		if (go_on(walk, name, err) < 0)
			return -1;
	}
}

int walk_path(int root, const char *path, const struct walk_rule *rule, struct walked *out,
	      struct error *err)
{
	struct walk walk = {.rule = rule, .root = root, .at.fd = -1};

	if (walk_all(&walk, path, err) < 0) {
		cleanup_close(&walk.at.fd);
		return -1;
	}
	if (!walk.at.path[0])
		snprintf(walk.at.path, sizeof(walk.at.path), "/");
	*out = walk.at;
	return 0;
}

/* --- where something is mounted -------------------------------------------------------------- */

/* Allows only links that root owns, in directories to which only root can write. In any other
 * directory another user could have replaced the link. */
static int follow_root_alone(void *data, const char *path, const struct stat *link,
			     const struct stat *dir, struct error *err)
{
	const uid_t *own = data;

	if (link->st_uid != *own)
		return error_set(
			err, ERR_DENIED,
			"nothing is mounted in the guest, because %.300s is a link that user %u made, who could choose the place of the mount: name a path without this link",
			path, (unsigned)link->st_uid);
	if (dir->st_uid != *own || (dir->st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(
			err, ERR_DENIED,
			"nothing is mounted in the guest, because %.300s is a link in a directory to which not only root can write, so another user could choose the place of the mount: name a path without this link",
			path);
	return 0;
}

int walk_mountpoint(const char *path, struct walked *out, struct error *err)
{
	uid_t own = geteuid();
	const struct walk_rule rule = {.follow = follow_root_alone, .data = &own, .make = true};
	autoclose int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? error_errno(err, errno, "/") : walk_path(root, path, &rule, out, err);
}
