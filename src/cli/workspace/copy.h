/* SPDX-License-Identifier: MIT */
/* Functions for all commands that copy files: the progress, the list of files that were left out,
 * and a clean end after a signal. */
#ifndef CLI_COPY_H
#define CLI_COPY_H

#include "cli/cli.h"
#include "microagent.h"

/* The largest number of left-out files that are printed, or that are in the JSON answer. */
#define COPY_LINES_MAX 10
#define COPY_LISTED_MAX 1000

struct copy_notes {
	const struct cli *cli;
	struct progress *progress;
	json_t *skipped; /* [{path, why}] */
	size_t count;	 /* how many files were left out */
	/* The descriptor for SIGINT, SIGTERM and SIGHUP, which is used as soon as bytes flow.
	 * Before that these signals end the program at once. */
	int signals;
	bool flowing;
	uint64_t began_ns; /* when bytes began to flow */
};
int copy_notes_init(struct copy_notes *notes, const struct cli *cli, struct progress *progress,
		    struct error *err);
#define COPY_LIMIT_HELP \
	"refuse to copy more than this: bytes, or a number with K, M, G or T behind it"
/* Returns options for the library. They borrow `notes`. `limit`: in bytes, 0 for none. */
struct microagent_copy copy_options(struct copy_notes *notes, const char *user, int64_t limit);
/* Ends a copy. `status` and `err` are the results of the library. After success prints the files
 * that were left out (with --json {"ok":true,"skipped":[...],"skippedMore"?}), and returns the exit
 * code. After a failure returns -1, or the exit code for the signal that ended the copy. Frees the
 * contents of `notes`. */
int copy_answer(struct copy_notes *notes, int status, struct error *err);

/* Checks that a path of the host is not "-". For other programs "-" is the standard input or
 * output; for this program it is not, and the user hardly means a file of that name. `host_path`:
 * the path as the user typed it. Returns -1 with a usage error for "-". */
int copy_refuse_dash(struct cli *cli, const char *host_path, struct error *err);

/* The target of a copy, as the user typed it. copy_name_target() puts the target into errors,
 * because the receiving side names only the last component of the path, or the temporary file in
 * the directory of the target. */
struct copy_target {
	const char *workspace; /* the workspace of the target; NULL: the target is on this host */
	const char *from;      /* the workspace of the source; NULL: the source is on this host */
	const char *path;
	const char *source; /* the path that is copied */
};
void copy_name_target(const struct copy_target *target, struct error *err);

#endif
