/* SPDX-License-Identifier: MIT */
/* The end of the command run by SIGTERM. run still gives its answer as always. */
#ifndef SUPERVISOR_TOLD_TO_END_H
#define SUPERVISOR_TOLD_TO_END_H

#include <stdbool.h>

#include "base/error.h"

/* Begins to handle SIGTERM. *lifeline: the writing end of the machine's lifeline, which the signal
 * closes. *line_end: its reading end, which the live supervisor gets too. */
int told_begin(int *lifeline, int *line_end, struct error *err);
bool told_is(void);
int told_say(struct error *err); /* always returns -1 */
void told_close(int *line_end);	 /* accepts -1 */

#endif
