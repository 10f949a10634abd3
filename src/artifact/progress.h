/* SPDX-License-Identifier: MIT */
/*
 * A line on stderr that shows the present work of the program and for how long it has lasted. The
 * line appears when the program has worked for a second, is redrawn at most four times a second,
 * and is cut to the width of the terminal. Nothing is written if stderr is no terminal.
 */
#ifndef ARTIFACT_PROGRESS_H
#define ARTIFACT_PROGRESS_H

#include <stddef.h>

/* Starts a stage, and ends the stage before. */
void progress_stage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Sets the progress to done of about total units, and draws. `total` 0: unknown. */
void progress_count(size_t done, size_t total);
void progress_draw(void);  /* draws the line; called again and again during a wait */
void progress_clear(void); /* removes the line */

#endif
