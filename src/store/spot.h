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
	unsigned long device; /* the number of the directory's file system */
	char *inner;	      /* the path of the directory within that file system */
};
#define SPOT_NONE        \
	{                \
		.fd = -1 \
	}

/* The directories to which a rule applies. The rule names one directory. */
enum reach {
	REACH_ITSELF, /* only the named directory */
	REACH_BELOW,  /* the named directory, and everything below it */
	REACH_ABOVE,  /* the directories that hold the named directory, but not the named
		       * directory itself */
	REACH_ROUND,  /* the named directory, everything below it, and the directories that hold
		       * it */
};

/* Makes the spot of the directory that `fd` has open. Takes over `fd`, also with an error. Returns
 * 0, or -1 with an error. The caller closes *out in both cases. */
int spot_make(int fd, const struct mountinfo *mounts, struct spot *out, struct error *err);
/* Opens the path and makes its spot. Returns 1 if the spot was made, 0 if there is no such
 * path or no right to open it, or -1 with an error, also if this process has no descriptor left. The caller closes *out in all cases. */
int spot_find(const char *path, const struct mountinfo *mounts, struct spot *out,
	      struct error *err);
void spot_close(struct spot *spot);
#define auto_spot __attribute__((cleanup(spot_close)))

/* Returns whether both spots are the same directory. */
bool spot_is(const struct spot *a, const struct spot *b);
/* Returns whether outer holds inner, or is the same directory. The test follows the path of inner
 * upwards, and also compares the paths in the file system, because a bind mount gives a directory
 * another path. */
bool spot_holds(const struct spot *outer, const struct spot *inner);
/* Returns whether a rule about the directory `rule` applies to the directory `spot`. */
bool spot_is_reached(const struct spot *spot, const struct spot *rule, enum reach reach);
/* Returns the next mount below the directory; NULL if there are no more. *at must be 0 at the first
 * call, and the function keeps its position in *at. */
const struct mount_row *spot_next_below(const struct spot *spot, const struct mountinfo *mounts,
					size_t *at);
/* Returns a mount below the directory `spot` that shows a directory to which a rule about the
 * directory `rule` applies; NULL if there is none. */
const struct mount_row *spot_mounted_below(const struct spot *spot, const struct mountinfo *mounts,
					   const struct spot *rule, enum reach reach);

/* Returns the present path of the file that `fd` has open, without links. The caller frees the
 * path. Returns NULL with an error. */
char *spot_path_of(int fd, struct error *err);

#endif
