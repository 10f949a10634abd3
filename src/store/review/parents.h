/* SPDX-License-Identifier: MIT */
/* Finds the directory of each path of a sorted sequence, also if a guest has chosen the paths so
 * that this takes long. */
#ifndef STORE_REVIEW_PARENTS_H
#define STORE_REVIEW_PARENTS_H

#include <stddef.h>

/* The directories whose paths are beginnings of the last path, the shortest one first. A later path
 * can be below no other directory. */
struct review_parents {
	struct review_parent {
		const char *path;
		size_t len, at;
	} * stack; /* has room for each directory of the sequence */
	size_t depth;
};

/* Returns the position of the directory of `path`: REVIEW_ROOT if the path has no slash, and
 * REVIEW_NONE if no such directory was added. The paths of the calls must be sorted as strcmp()
 * compares. */
size_t review_parents_find(struct review_parents *parents, const char *path);
/* Adds the directory `path`, with which review_parents_find() was just called, at the position
 * `at`. */
void review_parents_add(struct review_parents *parents, const char *path, size_t at);

#endif
