/* SPDX-License-Identifier: MIT */
/*
 * One line on stderr that says what is being waited for and since when, redrawn at most four times
 * a second, shown from the second second of all stages on and cut to the terminal's width, and only
 * where stderr is a terminal: elsewhere nothing at all is written.
 */
#ifndef ARTIFACT_PROGRESS_H
#define ARTIFACT_PROGRESS_H

#include <stddef.h>

/* Starts a stage; the one before ends. */
void progress_stage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* done of about total units; total 0: unknown. Also draws. */
void progress_count(size_t done, size_t total);
void progress_draw(void); /* to be called while waiting */
void progress_clear(void);

#endif
