/* SPDX-License-Identifier: MIT */
/*
 * The mounts that this process sees. They tell whether two paths lead to the same directory: a bind
 * mount shows a directory at a second path, but the path within the file system is the same.
 */
#ifndef STORE_MOUNTINFO_H
#define STORE_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct mount_row {
	unsigned id;
	unsigned long device; /* number of the file system, only for comparing */
	char *root;	      /* the mounted directory, as a path within its file system */
	char *point;	      /* the path on which that directory is mounted */
	char *type;	      /* "ext4" */
};

struct mountinfo {
	struct mount_row *rows;
	size_t count;
};

int mountinfo_read(struct mountinfo *out, struct error *err);
void mountinfo_free(struct mountinfo *mounts); /* accepts a zeroed one */
void mountinfo_free_row(struct mount_row *row);

/* Returns the mount through which `fd` was opened. NULL with an error. */
const struct mount_row *mountinfo_of(const struct mountinfo *mounts, int fd, struct error *err);
/* Returns the path within the file system for a path that lies on the mount `row`. The caller frees
 * the path. */
char *mountinfo_inner(const struct mount_row *row, const char *path, struct error *err);

#endif
