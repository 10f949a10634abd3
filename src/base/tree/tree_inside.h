/* SPDX-License-Identifier: MIT */
/* Checks if a symbolic link stays in the tree with which it is copied. */
#ifndef BASE_TREE_INSIDE_H
#define BASE_TREE_INSIDE_H

#include <stdbool.h>

#include "base/tree/tree_wire.h"

/*
 * Returns true if the link's target stays in the tree. `root` is the absolute path of the tree at
 * its source. `path` is the path of the link below `root`. If `target` is absolute and below
 * `root`, it is made relative, in place. Also returns false if it is not certain that the target
 * stays in the tree.
 */
bool tree_link_inside(const char *root, const char *path, char target[TREE_PATH_MAX + 1]);

#endif
