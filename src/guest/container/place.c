/* SPDX-License-Identifier: MIT */
#include "guest/container/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LINKS_MAX 40

static int open_in_root(int root, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

int place_open(int root, const char *path, struct error *err)
{
	int fd = open_in_root(root, path, O_PATH);

	return fd >= 0 ? fd : error_errno(err, errno, "%.300s", path);
}

void place_name(int fd, char out[PLACE_NAME])
{
	snprintf(out, PLACE_NAME, "/proc/self/fd/%d", fd);
}

static int make_in_root(int root, char *path, bool file, int links, struct error *err);

/* Opens the target of a link, and creates the target if it is missing. `name` is the link's name in
 * the directory `parent`, and `before` is the path of `parent` below the root. `links` is the
 * number of further links that may be followed. */
static int make_target(int root, int parent, const char *name, const char *before, bool file,
		       int links, struct error *err)
{
	char target[PATH_MAX], whole[PATH_MAX];
	ssize_t n = readlinkat(parent, name, target, sizeof(target) - 1);

	if (n < 0 || links == 0)
		return error_errno(err, n < 0 ? errno : ELOOP, "%.300s", name);
	target[n] = '\0';
	if ((size_t)snprintf(whole, sizeof(whole), "%s/%s", target[0] == '/' ? "" : before,
			     target) >= sizeof(whole))
		return error_errno(err, ENAMETOOLONG, "%.300s", name);
	return make_in_root(root, whole, file, links - 1, err);
}

/* Creates one missing component of a path: an empty file if `file` is true, otherwise a
 * directory. */
static int make_one(int parent, const char *name, bool file)
{
	if (!file)
		return mkdirat(parent, name, 0755);
	autoclose int made =
		openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755);
	return made >= 0 ? 0 : -1;
}

/* Opens the last component of the path, and creates it if it is missing. All components before the
 * last one exist. */
static int step(int root, char *path, bool file, int links, struct error *err)
{
	char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	int fd = open_in_root(root, path, O_PATH);

	if (fd >= 0 || errno != ENOENT)
		return fd >= 0 ? fd : error_errno(err, errno, "%.300s", path);
	if (slash)
		*slash = '\0';
	autoclose int parent =
		open_in_root(root, slash && *path ? path : ".", O_PATH | O_DIRECTORY);
	if (parent < 0)
		return error_errno(err, errno, "%.300s", path);
	if (make_one(parent, name, file) < 0) {
		if (errno != EEXIST)
			return error_errno(err, errno, "cannot make %.300s/%.100s", path, name);
		fd = make_target(root, parent, name, slash ? path : "", file, links, err);
	} else {
		fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	}
	if (slash)
		*slash = '/';
	return fd >= 0 ? fd : error_errno(err, errno, "%.300s", path);
}

static int make_in_root(int root, char *path, bool file, int links, struct error *err)
{
	for (char *end = path; *end;) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		bool last = end[strspn(end, "/")] == '\0';
		char kept = *end;

		*end = '\0';
		int fd = step(root, path, file && last, links, err);
		*end = kept;
		if (fd < 0 || last)
			return fd;
		close(fd);
	}
	return place_open(root, ".", err);
}

int place_make(int root, const char *path, bool file, struct error *err)
{
	char copy[PATH_MAX];

	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return error_errno(err, ENAMETOOLONG, "%.300s", path);
	return make_in_root(root, copy, file, LINKS_MAX, err);
}
