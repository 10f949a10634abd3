/* SPDX-License-Identifier: MIT */
/* The changes that a person has named by paths. */
#ifndef STORE_REVIEW_SELECT_H
#define STORE_REVIEW_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "store/review/compare.h"

/* How a person has named a change. */
enum review_named {
	REVIEW_NOT_NAMED,
	/* by no path at all, or by the reviewed directory itself: names no autorun file */
	REVIEW_NAMED_ALL,
	REVIEW_NAMED_DIR, /* by a directory above it */
	REVIEW_NAMED_EXACTLY,
};

struct review_selection {
	char **paths; /* sorted, without slashes at their ends */
	size_t count;
	bool *used; /* one for each path: it has named a change */
	bool all;
};

/* Reads the paths. They are relative to the reviewed directory; a path may begin with "./" and may
 * end with "/". No paths at all, and the path ".", name all changes. ERR_INVALID if a path is none
 * below the directory. The caller releases *out by review_selection_free(). */
int review_selection_read(const char *const *paths, size_t count, struct review_selection *out,
			  struct error *err);
void review_selection_free(struct review_selection *selection); /* accepts a zeroed one */
#define auto_review_selection __attribute__((cleanup(review_selection_free)))

/* Returns how a change is named. A renamed file is named by its old path too; but an autorun file, and
 * a file of git, is then only REVIEW_NAMED_ALL. */
enum review_named review_selection_find(struct review_selection *selection,
					const struct review_change *change);
/* ERR_NOT_FOUND if a path has named no change, after review_selection_find() was called for each
 * change. */
int review_selection_check(const struct review_selection *selection, struct error *err);

#endif
