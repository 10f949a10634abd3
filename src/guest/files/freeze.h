/* SPDX-License-Identifier: MIT */
/* Freezes a file system, so that the host can copy its disk. */
#ifndef GUEST_FREEZE_H
#define GUEST_FREEZE_H

#include "base/error.h"

/*
 * Writes the file system of the path words[0] back, freezes it, prints "frozen\n", and thaws it at
 * the end of stdin. The file system is thawed after LIMIT_FREEZE_MS in any case, also if this
 * process is killed. That is an error, since a copy made during this time may be torn.
 */
int freeze_until_told(char **words, struct error *err);

#endif
