/* SPDX-License-Identifier: MIT */
/* What the commands that copy files have in common: what was left out is said. */
#ifndef CLI_COPY_H
#define CLI_COPY_H

#include "cli/cli.h"
#include "microagent.h"

struct copy_notes {
	const struct cli *cli;
	json_t *skipped; /* [{path, why}] */
};
int copy_notes_init(struct copy_notes *notes, const struct cli *cli, struct error *err);
/* A microagent_copy's function; data is the notes. Without --json it warns. */
void copy_note_skipped(void *data, const char *path, const char *why);
/* With --json prints {"ok":true,"skipped":[...]}. The exit code; frees the notes. */
int copy_answer(struct copy_notes *notes, struct error *err);
void copy_notes_free(struct copy_notes *notes);

/* Where something is copied to, as it was typed: for errors, which the other side words by the last
 * component, or by the temporary file beside it. */
struct copy_target {
	const char *workspace; /* NULL: on this host */
	const char *path;
	const char *source; /* what is copied */
	bool root;	    /* with all rights of the guest's */
};
void copy_name_target(const struct copy_target *target, struct error *err);

#endif
