/* SPDX-License-Identifier: MIT */
/* Writes changes of a guest as a patch, by the host's git. */
#ifndef STORE_REVIEW_DIFF_H
#define STORE_REVIEW_DIFF_H

#include "store/review/compare.h"
#include "store/review/extract.h"

struct review_diff {
	const struct review_changes *changes;
	int tree; /* a descriptor of the copy of the upper layer */
	/* The changes that are written (select.h). */
	const char *const *paths;
	size_t path_count;
	struct review_image image; /* with a scratch directory, whose path is `scratch_path` */
	const char *scratch_path;  /* absolute */
	int out;		   /* the patch is written to this descriptor */
	bool colour;		   /* with colours for a terminal */
};

/*
 * Writes a patch that `git apply` takes in the reviewed directory. The patch does not have changes
 * that are left out; directories, which git does not know; and files below .git, which `git apply`
 * refuses. ERR_NOT_FOUND: the host has no git, or no change has a path of `paths`. If nobody reads
 * `out` to its end, this is a success.
 */
int review_diff(const struct review_diff *inputs, struct error *err);

#endif
