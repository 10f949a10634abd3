/* SPDX-License-Identifier: MIT */
/* Shows what a guest has changed in the directories that are shared with it for a review, and
 * brings changes to the host. */
#ifndef CLI_REVIEW_H
#define CLI_REVIEW_H

#include "cli/cli.h"
#include "cli/options/guest.h"

/* What `changes` prints. */
enum review_form {
	REVIEW_TABLE,
	REVIEW_STAT, /* one line for each directory, with numbers */
	REVIEW_PATCH,
};

/* Fetches the changes of a workspace or session and prints those that `paths` choose; NULL: all.
 * `limit` is the largest number of bytes to fetch; 0: the default. Returns the exit code, or -1 with
 * err set. */
int review_show(struct cli *cli, const char *name, enum review_form form, int64_t limit,
		const char *const *paths, struct error *err);
/* Brings changes to the host, and prints what was done. The exit code is 1 if there is a conflict,
 * or if a step has failed. `digest` may be NULL. */
int review_bring(struct cli *cli, const char *name, const char *digest, const char *const *paths,
		 struct error *err);
/* Takes the reviewed directories of a workspace that does not run anew. */
int review_refresh(struct cli *cli, const char *name, struct error *err);
/* Forgets the changes of a workspace that does not run. */
int review_forget(struct cli *cli, const char *name, struct error *err);

/* Returns true if the machine of `values` has a directory that is shared for a review. */
bool review_is_asked(const struct guest_values *values);
/* Ends a `run` with such a directory: says how many files the guest has changed in it, and how to
 * look at them. `id` is what the library calls the workspace or session, and `name` what a person
 * calls it. `clean` is true if the command ended by itself: otherwise the guest may have had no time
 * to write its changes to the disk. Returns true if the workspace must be kept, because it has
 * changes, or because they cannot be fetched or may be incomplete. */
bool review_after_run(const struct cli *cli, struct microagent *agent, const char *id,
		      const char *name, bool clean);

#endif
