/* SPDX-License-Identifier: MIT */
/* What the commands that copy files have in common: progress, what was left out, a clean end. */
#ifndef CLI_COPY_H
#define CLI_COPY_H

#include "cli/cli.h"
#include "microagent.h"

/* Of what was left out so many are said one by one. */
#define COPY_LINES_MAX 10
#define COPY_LISTED_MAX 1000

struct copy_notes {
	const struct cli *cli;
	struct progress *progress;
	json_t *skipped; /* [{path, why}] */
	size_t count;	 /* of all that were left out */
	int signals; /* SIGINT, SIGTERM, SIGHUP, once bytes flow: before that they end us at once */
	bool flowing;
	uint64_t began_ns; /* when they began to */
};
int copy_notes_init(struct copy_notes *notes, const struct cli *cli, struct progress *progress,
		    struct error *err);
#define COPY_LIMIT_HELP \
	"copy no more than this, and nothing of what is more: bytes, or with K, M, G or T"
/* What the library is told; borrows notes. limit: bytes, 0 for none. */
struct microagent_copy copy_options(struct copy_notes *notes, const char *user, int64_t limit);
/* After success: says what was left out, with --json {"ok":true,"skipped":[...],"skippedMore"?}.
 * After a failure, with err set: -1, or the exit code of the signal that ended it. Frees the notes.
 */
int copy_answer(struct copy_notes *notes, int status, struct error *err);

/* "-" is neither the standard input nor the standard output here, as others have it, and a file of
 * that name is hardly meant. host_path: as it was typed. -1: the usage error. */
int copy_refuse_dash(struct cli *cli, const char *host_path, struct error *err);

/* Where something is copied to, as it was typed: for errors, which the other side words by the last
 * component, or by the temporary file beside it. */
struct copy_target {
	const char *workspace; /* NULL: on this host */
	const char *from;      /* the workspace whose path is copied; NULL: none */
	const char *path;
	const char *source; /* what is copied */
};
void copy_name_target(const struct copy_target *target, struct error *err);

#endif
