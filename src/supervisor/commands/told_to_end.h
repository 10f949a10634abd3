/* SPDX-License-Identifier: MIT */
/* Handles SIGTERM in the command run: the machine is ended, and run still gives its answer. */
#ifndef SUPERVISOR_TOLD_TO_END_H
#define SUPERVISOR_TOLD_TO_END_H

#include <stdbool.h>

#include "base/error.h"

/* Makes the machine's lifeline, and begins to handle SIGTERM. *lifeline becomes the writing end of
 * the pipe. The handler of SIGTERM writes a byte to it and closes it. *line_end becomes the reading
 * end, of which the live supervisor gets a copy. */
int told_begin(int *lifeline, int *line_end, struct error *err);
bool told_is(void); /* returns whether SIGTERM has come */
/* Sets the error that says that SIGTERM has come. Returns -1. */
int told_say(struct error *err);
void told_close(int *line_end); /* closes the reading end; accepts -1 */

#endif
