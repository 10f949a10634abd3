/* SPDX-License-Identifier: MIT */
/* Functions for all commands that copy files. They print the progress and the list of files that
 * were left out, and clean up after a signal. */
#ifndef CLI_COPY_H
#define CLI_COPY_H

#include "cli/cli.h"
#include "microagent.h"

/* The largest numbers of left-out files: COPY_LINES_MAX are printed, and COPY_LISTED_MAX are in the
 * JSON answer. */
#define COPY_LINES_MAX 10
#define COPY_LISTED_MAX 1000

struct copy_notes {
	const struct cli *cli;
	struct progress *progress;
	json_t *skipped; /* the files that were left out, as a list of {"path","why"} */
	size_t count;	 /* how many files were left out */
	/* The descriptor for SIGINT, SIGTERM and SIGHUP. It is used as soon as bytes flow. Before
	 * that, these signals end the program at once. */
	int signals;
	bool flowing;
	uint64_t began_ns; /* the time on clock_mono_ns() at which bytes began to flow */
};
int copy_notes_init(struct copy_notes *notes, const struct cli *cli, struct progress *progress,
		    struct error *err);
#define COPY_LIMIT_HELP \
	"refuse to copy more than this: bytes, or a number with K, M, G or T behind it"
/* Returns options for the library. `notes` must live as long as the options are used. `limit` is
 * the largest size of the copy in bytes; 0: no limit. */
struct microagent_copy copy_options(struct copy_notes *notes, const char *user, int64_t limit);
/* Ends a copy. `status` and `err` are the results of the library. After success prints the files
 * that were left out (with --json {"ok":true,"skipped":[...],"skippedMore"?}), and returns the exit
 * code. After a failure returns -1. If a signal has ended the copy, returns the exit code for that
 * signal. Frees the contents of `notes`. */
int copy_answer(struct copy_notes *notes, int status, struct error *err);

/* Refuses "-" as a path of the host. Other programs use "-" for the standard input or output. This
 * program does not, and the user hardly means a file with that name. `host_path` is the path as the
 * user typed it. Returns -1 with a usage error for "-". */
int copy_refuse_dash(struct cli *cli, const char *host_path, struct error *err);

/* The target of a copy, as the user typed it. copy_name_target() puts the target into errors.
 * Without this function, errors have only the last component of the path, or the name of a
 * temporary file in the target's directory. */
struct copy_target {
	/* the workspace to which files are copied; NULL: the target is on this host */
	const char *workspace;
	/* the workspace from which files are copied; NULL: the source is on this host */
	const char *from;
	const char *path;
	const char *source; /* the path of the file or directory that is copied */
};
void copy_name_target(const struct copy_target *target, struct error *err);

#endif
