/* SPDX-License-Identifier: MIT */
/* Handles SIGTERM in the command run: the machine is ended, and run still gives its answer. */
#ifndef SUPERVISOR_TOLD_TO_END_H
#define SUPERVISOR_TOLD_TO_END_H

#include <stdbool.h>

#include "base/error.h"

/* Makes the machine's lifeline, and begins to handle SIGTERM. The signal writes a byte to
 * *lifeline, the writing end, and closes it. *line_end is the reading end, which the live
 * supervisor gets too. */
int told_begin(int *lifeline, int *line_end, struct error *err);
bool told_is(void); /* returns whether SIGTERM has come */
/* Sets the error that says that SIGTERM has come, and returns -1. */
int told_say(struct error *err);
void told_close(int *line_end); /* accepts -1 */

#endif
