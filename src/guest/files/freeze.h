/* SPDX-License-Identifier: MIT */
/* Freezes a file system, so that the host can copy its disk. */
#ifndef GUEST_FREEZE_H
#define GUEST_FREEZE_H

#include "base/error.h"

/*
 * Writes all changed data of the file system that has the path words[0] to its disk, freezes the
 * file system, prints "frozen\n", and thaws the file system at the end of stdin. If stdin has not
 * ended after LIMIT_FREEZE_MS, the function thaws the file system and fails, since the host's copy
 * may be inconsistent. The file system is also thawed if this process is killed.
 */
int freeze_until_told(char **words, struct error *err);

#endif
