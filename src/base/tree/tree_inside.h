/* SPDX-License-Identifier: MIT */
/* Whether a link stays in the tree that it is copied with. */
#ifndef BASE_TREE_INSIDE_H
#define BASE_TREE_INSIDE_H

#include <stdbool.h>

#include "base/tree/tree_wire.h"

/*
 * root: the absolute path of the tree where it comes from; path: the link's, below it. An absolute
 * target below root is made relative, in place. False: the link leads out of the tree, or may do
 * so.
 */
bool tree_link_inside(const char *root, const char *path, char target[TREE_PATH_MAX + 1]);

#endif
