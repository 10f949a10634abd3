/* SPDX-License-Identifier: MIT */
/* Finds the programs of microagent. */
#ifndef CHANNEL_PROGRAM_H
#define CHANNEL_PROGRAM_H

#include "base/error.h"

/* Returns the path of a program, malloc'd. Looks first in <prefix>/bin of the shared library, if
 * this code is in a shared library; then beside the running program; then in the absolute entries
 * of PATH. ERR_NOT_FOUND if the program is in none of these. */
char *program_find(const char *program, struct error *err);

#endif
