/* SPDX-License-Identifier: MIT */
/*
 * Finds the file or directory that a path names, one component after the other. This is for a
 * process that has more rights than the users who may have made links on the way: before a link is
 * followed, the caller's rule is asked.
 */
#ifndef GUEST_WALK_H
#define GUEST_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

struct walk_rule {
	/* Fails if the link at `path` in the directory `dir` must not be followed. The function may
	 * first give up rights of this process. */
	int (*follow)(void *data, const char *path, const struct stat *link, const struct stat *dir,
		      struct error *err);
	void *data;
	bool make; /* make missing directories, with mode 0755 */
};

struct walked {
	int fd;		     /* O_PATH; the caller closes it */
	char path[PATH_MAX]; /* the path below the root, without links; begins with "/" */
};

/* Walks a path. No link and no ".." leads out of root, which is an open directory. Finds
 * directories, other files, and links to files. */
int walk_path(int root, const char *path, const struct walk_rule *rule, struct walked *out,
	      struct error *err);

/* Opens the directory of a mountpoint of the config, and makes it if it is missing. Refuses a link
 * that another user has made, or could have put in its place: that user could decide over which
 * directory root mounts. */
int walk_mountpoint(const char *path, struct walked *out, struct error *err);

#endif
