/* SPDX-License-Identifier: MIT */
/* A spot identifies a directory, whatever path leads to it. The functions test whether one
 * directory contains another. */
#ifndef STORE_SPOT_H
#define STORE_SPOT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "store/mountinfo.h"

struct spot {
	int fd;
	struct stat st;
	char *path;	      /* path of the directory, without links */
	unsigned long device; /* number of the file system that has the directory */
	char *inner;	      /* path of the directory within its file system */
};
#define SPOT_NONE        \
	{                \
		.fd = -1 \
	}

/* The directories that a rule about a directory refuses. */
enum reach {
	REACH_ITSELF, /* only the directory that the rule names */
	REACH_BELOW,  /* the named directory, and everything below it */
	REACH_ABOVE,  /* the directories that contain the named directory, but not the named
		       * directory itself */
	REACH_ROUND,  /* the named directory, everything below it, and the directories that contain
		       * it */
};

/* Makes the spot of the directory that is open as `fd`. The spot then owns `fd`, even on failure.
 * Returns 0, or -1 with err set. The caller calls spot_close() in both cases. */
int spot_make(int fd, const struct mountinfo *mounts, struct spot *out, struct error *err);
/* Opens the path and makes its spot. Returns 1 if the spot was made. Returns 0 if the path does not
 * exist, or if this process may not open it. Returns -1 with err set on other failures, and if this
 * process has no free descriptor. The caller calls spot_close() in all cases. */
int spot_find(const char *path, const struct mountinfo *mounts, struct spot *out,
	      struct error *err);
void spot_close(struct spot *spot);
#define auto_spot __attribute__((cleanup(spot_close)))

/* Returns true if both spots are the same directory. */
bool spot_is(const struct spot *a, const struct spot *b);
/* Returns true if outer contains inner, or is the same directory. Compares `outer` with each
 * directory on the path of `inner`. Also compares the paths within the file system, because a bind
 * mount gives a directory a second path. */
bool spot_holds(const struct spot *outer, const struct spot *inner);
/* Returns true if a rule about the directory `rule` applies to the directory `spot`. `reach` says
 * to which directories the rule applies. */
bool spot_is_reached(const struct spot *spot, const struct spot *rule, enum reach reach);
/* Returns the next mount below the directory, or NULL if there are no more. *at must be 0 at the
 * first call; the function stores its position in *at. The result points into `mounts`. */
const struct mount_row *spot_next_below(const struct spot *spot, const struct mountinfo *mounts,
					size_t *at);
/* Returns a mount below the directory `spot` that shows a directory to which a rule about the
 * directory `rule` applies, or NULL if there is none. The result points into `mounts`. */
const struct mount_row *spot_mounted_below(const struct spot *spot, const struct mountinfo *mounts,
					   const struct spot *rule, enum reach reach);

/* Returns the current path, without links, of the file that is open as `fd`. The caller frees the
 * path. Returns NULL with err set on failure. */
char *spot_path_of(int fd, struct error *err);

#endif
