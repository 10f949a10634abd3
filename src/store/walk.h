/* SPDX-License-Identifier: MIT */
/* A path gone name by name, so that what is on the way is looked at before it is passed. */
#ifndef STORE_WALK_H
#define STORE_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* Where a walk is, and the names that it has still to go. */
struct walk {
	int at;
	char *rest;
	unsigned links;
};

/* From the directory `from` (-1: "/"). To be ended in any case. */
int walk_begin(struct walk *walk, int from, const char *path, struct error *err);
void walk_end(struct walk *walk);
/* Takes the next name from those that are left, malloc'd. NULL: no memory; there must be one. */
char *walk_next_name(struct walk *walk);
/* Whether no name is left. */
bool walk_is_over(const struct walk *walk);
/* Takes the descriptor of a directory. */
void walk_stand_at(struct walk *walk, int place);
/* Puts the target of the link `name` in front of the names that are left. */
int walk_follow(struct walk *walk, const char *name, struct error *err);

/* Whether it is ours or root's, so that nobody else decides what becomes of the names in it. */
bool walk_trusts_dir(int dir, const struct stat *st);
/* The same of a link that lies in dir. */
bool walk_trusts_link(int dir, const struct stat *link);

#endif
