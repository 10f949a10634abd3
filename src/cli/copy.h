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

#endif
