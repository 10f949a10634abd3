/* SPDX-License-Identifier: MIT */
/*
 * The user `agent` in the root file system of a base. Every base has this user. The user has the
 * uid 1000, is in no group of administrators, and can write only /workspace, /tmp and its home
 * directory. While the host makes a base, it runs both functions in the guest as root.
 */
#ifndef GUEST_ACCOUNT_H
#define GUEST_ACCOUNT_H

#include "base/error.h"

/* Creates the user `agent`, its home directory, /workspace and /tmp, as far as they are missing.
 * words[0] is the root of the file system, "/" except in tests. A line that the function adds to a
 * file of /etc comes before any other line with the same uid or gid, so that programs show the name
 * `agent`. Fails with ERR_CONFLICT if the image has a user or group `agent` with another number
 * than 1000. */
int account_make(char **words, struct error *err);

/* Takes away the write access of the user `agent` to all other files and directories of the file
 * system, and prints the path of each file that it has changed. words[0] is the same as for
 * account_make(). */
int account_confine(char **words, struct error *err);

#endif
