/* SPDX-License-Identifier: MIT */
#ifndef ARTIFACT_TREE_IMPL_H
#define ARTIFACT_TREE_IMPL_H

#include "artifact/tree.h"

/* An entry whose data are in the staging directory already. */
int tree_add_staged(struct tree *tree, const char *path, mode_t mode, uid_t uid, gid_t gid,
		    int64_t time, struct error *err);

/* Takes off the list what is not in the staging directory as it is listed: a later entry of the
 * archive has put something else in its place. */
void tree_forget_replaced(struct tree *tree, int stage);

/* Attributes of the entry that was added last; they are the tree's from here on. */
void tree_give_xattrs(struct tree *tree, struct tree_xattr *xattrs, size_t count);

#endif
