/* SPDX-License-Identifier: MIT */
/*
 * Finds what a path names, one component after the other. For a process that has more rights than
 * whoever may have made a link on the way: before a link is followed, a rule of the caller's is
 * asked about its owner.
 */
#ifndef GUEST_WALK_H
#define GUEST_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

struct walk_rule {
	/* Fails where the link, which lies at `path` in the directory `dir`, must not be followed.
	 * It may give up rights of this process first. */
	int (*follow)(void *data, const char *path, const struct stat *link, const struct stat *dir,
		      struct error *err);
	void *data;
	bool make; /* a directory that is missing is made, with mode 0755 */
};

struct walked {
	int fd;		     /* O_PATH; the caller closes it */
	char path[PATH_MAX]; /* below the root, without any link in it, and beginning with "/" */
};

/* No link and no ".." leads out of root, which is an open directory. A file, and a link that leads
 * to one, are found as well as a directory. */
int walk_path(int root, const char *path, const struct walk_rule *rule, struct walked *out,
	      struct error *err);

/* The directory that a path of a config names, made where it is missing, for a mount of root's. A
 * link is refused that another user made, or could have put there: that user would choose what root
 * mounts over. */
int walk_mountpoint(const char *path, struct walked *out, struct error *err);

#endif
