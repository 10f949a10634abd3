/* SPDX-License-Identifier: MIT */
/* A walk along a path, name by name, so that each file on the way is checked before it is passed.
 */
#ifndef STORE_WALK_H
#define STORE_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* The state of a walk: the present directory and the remaining names. */
struct walk {
	int at;
	char *rest;
	unsigned links;
};

/* Begins a walk in the directory `from` (-1: "/"). The caller ends the walk in all cases. */
int walk_begin(struct walk *walk, int from, const char *path, struct error *err);
void walk_end(struct walk *walk);
/* Removes the next name from the remaining names and returns it. There must be a name left. Returns
 * NULL if there is no memory. The caller frees the name. */
char *walk_next_name(struct walk *walk);
/* Returns whether no name is left. */
bool walk_is_over(const struct walk *walk);
/* Moves the walk to a directory, and takes over its descriptor. */
void walk_stand_at(struct walk *walk, int place);
/* Puts the target of the link `name` in front of the remaining names. */
int walk_follow(struct walk *walk, const char *name, struct error *err);

/* Returns whether the directory belongs to us or to root, and nobody else can change the names in
 * it. */
bool walk_trusts_dir(int dir, const struct stat *st);
/* Returns whether a link in dir belongs to us or to root, so that nobody else can change it. */
bool walk_trusts_link(int dir, const struct stat *link);

#endif
