/* SPDX-License-Identifier: MIT */
/* A file system at rest, for the host to copy its disk. */
#ifndef GUEST_FREEZE_H
#define GUEST_FREEZE_H

#include "base/error.h"

/*
 * words[0]: a path on the file system. Writes it back, freezes it, says "frozen\n" on stdout, and
 * thaws it at the end of stdin. It is thawed at LIMIT_FREEZE_MS whatever happens, also when this
 * process is killed; having had to is an error, since what was copied meanwhile may be torn.
 */
int freeze_until_told(char **words, struct error *err);

#endif
