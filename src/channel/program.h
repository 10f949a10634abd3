/* SPDX-License-Identifier: MIT */
/* Where the programs of microagent are. */
#ifndef CHANNEL_PROGRAM_H
#define CHANNEL_PROGRAM_H

#include "base/error.h"

/* Beside the running program, else in <prefix>/bin of the installed library, else in PATH.
 * malloc'd; ERR_NOT_FOUND. */
char *program_find(const char *program, struct error *err);

#endif
