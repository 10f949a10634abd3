/* SPDX-License-Identifier: MIT */
/* A walk along a path, name by name. The caller checks each directory and link on the way before
 * the walk goes on. */
#ifndef STORE_WALK_H
#define STORE_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* The state of a walk. */
struct walk {
	int at;		/* the present directory */
	char *rest;	/* the remaining names */
	unsigned links; /* the number of links that were followed */
};

/* Begins a walk in the directory `from` (-1: "/"). The caller calls walk_end() also if this fails.
 */
int walk_begin(struct walk *walk, int from, const char *path, struct error *err);
void walk_end(struct walk *walk);
/* Removes the next name from the remaining names and returns it. At least one name must be left.
 * Returns NULL if there is no memory. The caller frees the name. */
char *walk_next_name(struct walk *walk);
/* Returns whether no name is left. */
bool walk_is_over(const struct walk *walk);
/* Moves the walk to a directory, and takes over its descriptor. */
void walk_stand_at(struct walk *walk, int place);
/* Puts the target of the link `name` in front of the remaining names, and moves the walk to "/" if
 * the target is absolute. Fails with ELOOP if the walk has followed too many links. */
int walk_follow(struct walk *walk, const char *name, struct error *err);

/* Returns whether the directory belongs to the user or to root. The mode of the directory is not
 * checked: the caller checks who else can write in it. */
bool walk_trusts_dir(int dir, const struct stat *st);
/* Returns whether a link in dir belongs to the user or to root. */
bool walk_trusts_link(int dir, const struct stat *link);

#endif
