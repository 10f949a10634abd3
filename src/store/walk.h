/* SPDX-License-Identifier: MIT */
/* A walk: follows a path, name by name. The caller checks each directory and each link on the path
 * before the walk continues. */
#ifndef STORE_WALK_H
#define STORE_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* The state of a walk. */
struct walk {
	int at;		/* descriptor of the current directory */
	char *rest;	/* the remaining names of the path */
	unsigned links; /* the number of links that were followed */
};

/* Begins a walk in the directory `from` (-1: "/"). The caller must call walk_end(), even if this
 * function fails. */
int walk_begin(struct walk *walk, int from, const char *path, struct error *err);
void walk_end(struct walk *walk);
/* Removes the next name from the remaining names and returns it. At least one name must remain.
 * Returns NULL if there is no memory. The caller frees the name. */
char *walk_next_name(struct walk *walk);
/* Returns true if no name remains. */
bool walk_is_over(const struct walk *walk);
/* Makes `place` the current directory of the walk. The walk then owns the descriptor `place`. */
void walk_stand_at(struct walk *walk, int place);
/* Puts the target of the link `name` before the remaining names. If the target is absolute, moves
 * the walk to "/". Fails with ELOOP if the walk has followed too many links. */
int walk_follow(struct walk *walk, const char *name, struct error *err);

/* Returns true if the directory belongs to the user or to root. Does not check the mode of the
 * directory, so the caller must check who else can write in it. */
bool walk_trusts_dir(int dir, const struct stat *st);
/* Returns true if a link in the directory `dir` belongs to the user or to root. `link` has the
 * attributes of the link. */
bool walk_trusts_link(int dir, const struct stat *link);

#endif
