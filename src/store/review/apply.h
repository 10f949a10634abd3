/* SPDX-License-Identifier: MIT */
/*
 * Brings changes of a guest to the reviewed directory on the host. Works below the descriptor of the
 * directory, follows no link of the host, and replaces each file completely or not at all. Looks at
 * the host's file immediately before each step: a file that is not as in the image stays, and is
 * reported as a conflict. Never sets a set-ID bit, and makes no devices.
 *
 * A run that was ended at any moment can be repeated: what it did is skipped.
 */
#ifndef STORE_REVIEW_APPLY_H
#define STORE_REVIEW_APPLY_H

#include <jansson.h>

#include "store/review/compare.h"
#include "store/review/extract.h"

struct review_apply {
	const struct review_list *list;
	const struct review_changes *changes; /* of this list */
	int tree;			      /* a descriptor of the copy of the upper layer */
	int host;			      /* a descriptor of the reviewed directory */
	/* The changes that are applied (select.h). */
	const char *const *paths;
	size_t path_count;
	/* Has the contents of files that a guest moved onto each other. If image.fd is -1, the
	 * host's files are taken for those, as long as they are as in the image. */
	struct review_image image;
	/* Is called before each system call that changes the reviewed directory, with the path of
	 * the change. May be NULL. */
	void (*step)(void *data, const char *path);
	void *data;
};

/*
 * Applies changes. Returns a new reference to
 *   {"applied":[{"path","kind"}],"conflicts":[{"path","why"}],"leftOut":[{"path","why"}],
 *    "unnamed":[{"path","by"}],"already":N}
 * with "pathBase64" for a path that is not UTF-8. "unnamed" has autorun files, and files below .git,
 * that are applied only if they are named: an autorun file by its path or by a directory above it,
 * and a file below .git by its path. "already" is the number of changes that the host had. If a step
 * fails so that no later step can succeed (the disk is full, for example), the object has
 * "failed":{"path","error","errorCode"} too, and the changes that are in no list are not applied.
 *
 * NULL: nothing was applied. ERR_NOT_FOUND: no change has a path of `paths`. ERR_INVALID: one of
 * `paths` is no path below the directory.
 */
json_t *review_apply(const struct review_apply *inputs, struct error *err);

#endif
