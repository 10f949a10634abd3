/* SPDX-License-Identifier: MIT */
/*
 * Finds the file or directory that a path names, one component after the other. This code is for
 * processes that have more rights than the users who may have made links in the path. Before a link
 * is followed, the function `follow` of the caller is called, and may refuse the link.
 */
#ifndef GUEST_WALK_H
#define GUEST_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

struct walk_rule {
	/* Called before a link is followed. Returns 0 if the link may be followed, -1 with err set
	 * if not. `path` is the path of the link, and `dir` describes the link's directory. The
	 * function may give up rights of this process before the link is followed. */
	int (*follow)(void *data, const char *path, const struct stat *link, const struct stat *dir,
		      struct error *err);
	void *data;
	bool make; /* missing directories are created, with the mode 0755 */
};

struct walked {
	int fd;		     /* an O_PATH file descriptor of the file, which the caller closes */
	char path[PATH_MAX]; /* the path below the root, which has no links and begins with "/" */
};

/* Finds the file or directory that a path names. `root` is a file descriptor of a directory, and no
 * link and no ".." leads out of this directory. A link at the end of the path is followed like
 * every other link, if `rule` allows it. */
int walk_path(int root, const char *path, const struct walk_rule *rule, struct walked *out,
	      struct error *err);

/* Opens the directory of a mount point of the config, and creates it if it is missing. Refuses a
 * link that a user other than root has made or could have replaced. Such a user could otherwise
 * choose the directory on which the agent mounts a file system. */
int walk_mountpoint(const char *path, struct walked *out, struct error *err);

#endif
