/* SPDX-License-Identifier: MIT */
/* Finds the programs of microagent. */
#ifndef CHANNEL_PROGRAM_H
#define CHANNEL_PROGRAM_H

#include "base/error.h"

/* Returns the path of a program, malloc'd: in <prefix>/bin of the shared library, if this code is
 * in one; else beside the running program; else in an absolute entry of PATH. ERR_NOT_FOUND. */
char *program_find(const char *program, struct error *err);

#endif
