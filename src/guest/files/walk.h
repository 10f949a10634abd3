/* SPDX-License-Identifier: MIT */
/*
 * Finds the file or directory that a path names, one component after the other. Processes use this
 * that have more rights than the users who may have made links on the path. Before a link is
 * followed, the rule of the caller is asked.
 */
#ifndef GUEST_WALK_H
#define GUEST_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

struct walk_rule {
	/* Decides whether a link may be followed: fails if it must not. `path` is the path of the
	 * link, and `dir` describes its directory. The function may give up rights of this process
	 * before the link is followed. */
	int (*follow)(void *data, const char *path, const struct stat *link, const struct stat *dir,
		      struct error *err);
	void *data;
	bool make; /* missing directories are made, with mode 0755 */
};

struct walked {
	int fd;		     /* an O_PATH descriptor of what was found; the caller closes it */
	char path[PATH_MAX]; /* the path below the root, which has no links and begins with "/" */
};

/* Walks a path. `root` is a descriptor of a directory, and no link and no ".." leads out of it.
 * Finds a directory or any other file. A link at the end of the path is followed like every other
 * link, if `rule` allows it. */
int walk_path(int root, const char *path, const struct walk_rule *rule, struct walked *out,
	      struct error *err);

/* Opens the directory of a mountpoint of the config, and makes it if it is missing. Refuses a link
 * that a user other than root has made or could have replaced. That user could otherwise choose the
 * directory over which root mounts. */
int walk_mountpoint(const char *path, struct walked *out, struct error *err);

#endif
