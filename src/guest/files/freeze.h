/* SPDX-License-Identifier: MIT */
/* Freezes a file system, so that the host can copy its disk. */
#ifndef GUEST_FREEZE_H
#define GUEST_FREEZE_H

#include "base/error.h"

/*
 * Writes the file system of the path words[0] back, freezes it, prints "frozen\n", and thaws it at
 * the end of stdin. If stdin has not ended after LIMIT_FREEZE_MS, or this process is killed, the
 * file system is thawed too. This is an error, since a copy that is being made may be inconsistent.
 */
int freeze_until_told(char **words, struct error *err);

#endif
