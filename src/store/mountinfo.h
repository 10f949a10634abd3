/* SPDX-License-Identifier: MIT */
/*
 * Lists the mounts that this process sees, to find out whether two paths lead to the same
 * directory. A bind mount shows a directory at a second path, but the directory's path within its
 * file system is the same.
 */
#ifndef STORE_MOUNTINFO_H
#define STORE_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct mount_row {
	unsigned id;
	unsigned long device; /* number of the file system, only for comparisons */
	char *root;	      /* path of the mounted directory within its file system */
	char *point;	      /* path at which the directory is mounted */
	char *type;	      /* "ext4" */
};

struct mountinfo {
	struct mount_row *rows;
	size_t count;
};

int mountinfo_read(struct mountinfo *out, struct error *err);
void mountinfo_free(struct mountinfo *mounts); /* accepts a zeroed one */
void mountinfo_free_row(struct mount_row *row);

/* Returns the mount through which `fd` was opened. The result points into `mounts`. Returns NULL
 * with err set on failure. */
const struct mount_row *mountinfo_of(const struct mountinfo *mounts, int fd, struct error *err);
/* Converts a path on the mount `row` into the path within the file system. The caller frees the
 * result. */
char *mountinfo_inner(const struct mount_row *row, const char *path, struct error *err);

#endif
