/* SPDX-License-Identifier: MIT */
/* A directory as it can be told from every other, whatever its names are, and what holds what. */
#ifndef STORE_SPOT_H
#define STORE_SPOT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "store/mountinfo.h"

struct spot {
	int fd;
	struct stat st;
	char *path;	      /* without links */
	unsigned long device; /* of its file system, in which it is: */
	char *inner;
};
#define SPOT_NONE        \
	{                \
		.fd = -1 \
	}

/* Of what a rule names. */
enum reach {
	REACH_ITSELF,
	REACH_BELOW, /* and itself */
	REACH_ABOVE, /* what holds it, not itself */
	REACH_ROUND, /* all of these */
};

/* Takes fd, also on failure. out is to be closed in either case. */
int spot_make(int fd, const struct mountinfo *mounts, struct spot *out, struct error *err);
/* 1: there is such a directory; 0: there is not. out is to be closed in any case. */
int spot_find(const char *path, const struct mountinfo *mounts, struct spot *out,
	      struct error *err);
void spot_close(struct spot *spot);
#define auto_spot __attribute__((cleanup(spot_close)))

bool spot_is(const struct spot *a, const struct spot *b);
/* By name where it has one, and by place where a bind mount gives it others. */
bool spot_holds(const struct spot *outer, const struct spot *inner);
bool spot_is_reached(const struct spot *spot, const struct spot *rule, enum reach reach);
/* The next mount below the directory, from *at on, which begins at 0; NULL: there is no more. */
const struct mount_row *spot_next_below(const struct spot *spot, const struct mountinfo *mounts,
					size_t *at);
/* A mount below the directory that shows what the rule is of; NULL. */
const struct mount_row *spot_mounted_below(const struct spot *spot, const struct mountinfo *mounts,
					   const struct spot *rule, enum reach reach);

/* What the descriptor's file is called now, without links; malloc'd. */
char *spot_path_of(int fd, struct error *err);

#endif
