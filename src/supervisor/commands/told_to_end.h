/* SPDX-License-Identifier: MIT */
/* run, of which somebody asks by SIGTERM that it end: it answers as always. */
#ifndef SUPERVISOR_TOLD_TO_END_H
#define SUPERVISOR_TOLD_TO_END_H

#include <stdbool.h>

#include "base/error.h"

/* From now on. lifeline: the writing end of what the machine lives by, which is closed in its
 * place; line_end: the other one, which the live supervisor gets too. */
int told_begin(int *lifeline, int *line_end, struct error *err);
bool told_is(void);
int told_say(struct error *err); /* -1 */
void told_close(int *line_end);	 /* accepts -1 */

#endif
