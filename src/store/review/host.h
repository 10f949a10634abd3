/* SPDX-License-Identifier: MIT */
/* Looks whether the host's files are still as in the image of the reviewed directory. */
#ifndef STORE_REVIEW_HOST_H
#define STORE_REVIEW_HOST_H

#include "store/review/compare.h"
#include "store/review/dirs.h"

/* The two sequences of paths by which the host's files are found. */
struct review_host_dirs {
	struct review_dirs paths; /* of the changes */
	struct review_dirs froms; /* from which files were renamed */
};
int review_host_begin(struct review_host_dirs *dirs, int host, const struct review_list *list,
		      struct error *err);
void review_host_end(struct review_host_dirs *dirs); /* accepts a zeroed one */
#define auto_review_host __attribute__((cleanup(review_host_end)))

/* Returns how the host's file is. For REVIEW_HOST_CONFLICT, *why becomes a clause, a static text.
 * `replaced`: no directory above the path is on the host now, because of a change by
 * review_host_is_replaced(). */
enum review_host review_host_state(struct review_host_dirs *dirs,
				   const struct review_change *change, bool replaced,
				   const char **why);
/* Returns whether the host has a file or a link in the place of the directory of `change`, which
 * makes a directory of a file or the other way round. `state` is the state of `change`. */
bool review_host_is_replaced(const struct review_change *change, enum review_host state);

/* Returns whether what is at the path is as `look` says. `entry`: the list's entry of the file whose
 * stat is compared first; NULL: none. */
bool review_host_fits(struct review_dirs *dirs, const char *path, const struct stat *st,
		      const struct review_look *look, const struct review_entry *entry,
		      enum review_bar *bar);

#endif
