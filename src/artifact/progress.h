/* SPDX-License-Identifier: MIT */
/*
 * The progress line: a line on stderr with the current work of the program, and how long this work
 * has taken. The line appears when the program has worked for a second. The line is redrawn at most
 * four times a second, and is cut to the width of the terminal. If stderr is not a terminal,
 * nothing is written.
 */
#ifndef ARTIFACT_PROGRESS_H
#define ARTIFACT_PROGRESS_H

#include <stddef.h>

/* Starts a stage of the work, and ends the previous stage. */
void progress_stage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Sets the progress to `done` of about `total` units, and draws the line. `total` is 0 if the
 * number of units is unknown. */
void progress_count(size_t done, size_t total);
void progress_draw(void);  /* draws the line; called repeatedly during a wait */
void progress_clear(void); /* removes the line */

#endif
