/* SPDX-License-Identifier: MIT */
/* Freezes a file system while the host copies its disk. */
#ifndef GUEST_FREEZE_H
#define GUEST_FREEZE_H

#include "base/error.h"

/*
 * Freezes the file system on which the path words[0] is. First writes all changed data of the file
 * system to its disk. Then freezes the file system, prints "frozen\n", waits for the end of stdin,
 * and thaws the file system. If stdin has not ended after LIMIT_FREEZE_MS milliseconds, thaws the
 * file system and fails, since the host's copy may be inconsistent. A child process also thaws the
 * file system if this process is killed.
 */
int freeze_until_told(char **words, struct error *err);

#endif
