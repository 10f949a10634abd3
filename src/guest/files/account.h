/* SPDX-License-Identifier: MIT */
/*
 * The user `agent` in the root file system of a base. Every base has this user. Its uid is 1000,
 * and it is not in a group of administrators. It can write only /workspace, /tmp and its home
 * directory. While the host makes a base, it runs both functions as root.
 */
#ifndef GUEST_ACCOUNT_H
#define GUEST_ACCOUNT_H

#include "base/error.h"

/* Makes the user, the home directory, /workspace and /tmp if they are missing. words[0] is the root
 * of the file system, "/" except in tests. If a file has no line for the user, the function adds
 * one. The new line comes before any other line with the same number, so that programs show the
 * name `agent`. Fails with ERR_CONFLICT if the image has a user of that name with another
 * number. */
int account_make(char **words, struct error *err);

/* Takes away the user's write access to everything else on the root's file system, and prints the
 * path of each change. words[0] is the root of the file system, as for account_make(). */
int account_confine(char **words, struct error *err);

#endif
