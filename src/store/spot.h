/* SPDX-License-Identifier: MIT */
/* The identity of a directory, whatever names it has, and the test whether one directory holds
 * another. */
#ifndef STORE_SPOT_H
#define STORE_SPOT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "store/mountinfo.h"

struct spot {
	int fd;
	struct stat st;
	char *path;	      /* the path without links */
	unsigned long device; /* number of its file system, in which `inner` is its path */
	char *inner;
};
#define SPOT_NONE        \
	{                \
		.fd = -1 \
	}

/* The directories that a rule reaches, seen from the directory that the rule names. */
enum reach {
	REACH_ITSELF,
	REACH_BELOW, /* everything below it, and itself */
	REACH_ABOVE, /* everything that holds it, without itself */
	REACH_ROUND, /* all of these */
};

/* Takes over fd, also if it fails. The caller closes *out in both cases. */
int spot_make(int fd, const struct mountinfo *mounts, struct spot *out, struct error *err);
/* Looks up the directory of the path. Returns 1 if there is such a directory, 0 if there is none;
 * -1 with an error. The caller closes *out in all cases. */
int spot_find(const char *path, const struct mountinfo *mounts, struct spot *out,
	      struct error *err);
void spot_close(struct spot *spot);
#define auto_spot __attribute__((cleanup(spot_close)))

bool spot_is(const struct spot *a, const struct spot *b);
/* Returns whether outer holds inner. The test compares the paths, and also the places in the file
 * system, because a bind mount gives a directory other paths. */
bool spot_holds(const struct spot *outer, const struct spot *inner);
bool spot_is_reached(const struct spot *spot, const struct spot *rule, enum reach reach);
/* Returns the next mount below the directory; NULL if there are no more. *at must be 0 at the first
 * call. */
const struct mount_row *spot_next_below(const struct spot *spot, const struct mountinfo *mounts,
					size_t *at);
/* Returns a mount below the directory that shows something that the rule reaches; NULL if there is
 * none. */
const struct mount_row *spot_mounted_below(const struct spot *spot, const struct mountinfo *mounts,
					   const struct spot *rule, enum reach reach);

/* Returns the present path of the descriptor's file, without links. The caller frees the path. */
char *spot_path_of(int fd, struct error *err);

#endif
