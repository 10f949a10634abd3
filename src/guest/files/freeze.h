/* SPDX-License-Identifier: MIT */
/* Freezes a file system while the host copies its disk. */
#ifndef GUEST_FREEZE_H
#define GUEST_FREEZE_H

#include "base/error.h"

/*
 * Freezes the file system that has the path words[0]. First writes all its changed data to its
 * disk. Then freezes the file system, prints "frozen\n", and thaws it at the end of stdin. If stdin
 * has not ended after LIMIT_FREEZE_MS, thaws the file system and fails, since the host's copy may
 * be inconsistent. The file system is also thawed if this process is killed.
 */
int freeze_until_told(char **words, struct error *err);

#endif
