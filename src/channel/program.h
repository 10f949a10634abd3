/* SPDX-License-Identifier: MIT */
/* Where the programs of microagent are. */
#ifndef CHANNEL_PROGRAM_H
#define CHANNEL_PROGRAM_H

#include "base/error.h"

/* In <prefix>/bin of the shared library, if it is that; else beside the running program, else in
 * an absolute entry of PATH. malloc'd; ERR_NOT_FOUND. */
char *program_find(const char *program, struct error *err);

#endif
