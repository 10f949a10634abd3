/* SPDX-License-Identifier: MIT */
/*
 * The mounts that this process sees. They show that several paths lead to the same directory: a
 * bind mount shows a directory that has a place of its own in its file system.
 */
#ifndef STORE_MOUNTINFO_H
#define STORE_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct mount_row {
	unsigned id;
	unsigned long device; /* number of the file system, only for comparing */
	char *root;	      /* the directory of the file system that is mounted */
	char *point;	      /* the path on which it is mounted */
	char *type;	      /* "ext4" */
};

struct mountinfo {
	struct mount_row *rows;
	size_t count;
};

int mountinfo_read(struct mountinfo *out, struct error *err);
void mountinfo_free(struct mountinfo *mounts); /* accepts a zeroed one */
void mountinfo_free_row(struct mount_row *row);

/* Returns the mount through which fd was opened. */
const struct mount_row *mountinfo_of(const struct mountinfo *mounts, int fd, struct error *err);
/* Returns the path within the file system for a path that lies on that mount. The caller frees the
 * path. */
char *mountinfo_inner(const struct mount_row *row, const char *path, struct error *err);

#endif
