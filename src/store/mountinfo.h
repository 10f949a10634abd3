/* SPDX-License-Identifier: MIT */
/*
 * The mounts that we see, by which a directory is known that has several paths: what a bind
 * mount shows has a place of its own in the file system it is of.
 */
#ifndef STORE_MOUNTINFO_H
#define STORE_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct mount_row {
	unsigned id;
	unsigned long device; /* of the file system; for comparing alone */
	char *root;	      /* the directory of the file system that is mounted */
	char *point;	      /* where */
	char *type;	      /* "ext4" */
};

struct mountinfo {
	struct mount_row *rows;
	size_t count;
};

int mountinfo_read(struct mountinfo *out, struct error *err);
void mountinfo_free(struct mountinfo *mounts); /* accepts a zeroed one */
void mountinfo_free_row(struct mount_row *row);

/* The mount that fd was opened through. */
const struct mount_row *mountinfo_of(const struct mountinfo *mounts, int fd, struct error *err);
/* path, which lies on that mount, as a path of its file system; malloc'd. */
char *mountinfo_inner(const struct mount_row *row, const char *path, struct error *err);

#endif
