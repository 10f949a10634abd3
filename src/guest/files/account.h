/* SPDX-License-Identifier: MIT */
/*
 * The user `agent` of a root file system, as every base has it: uid 1000, not in any group of an
 * administrator, who can write /workspace, /tmp and the home directory. The host runs both
 * functions as root while it makes a base.
 */
#ifndef GUEST_ACCOUNT_H
#define GUEST_ACCOUNT_H

#include "base/error.h"

/* Makes the user, the home directory, /workspace and /tmp if they are missing. words[0] is the
 * root, "/" except in tests. If a file has no line for the user, the function puts one before any
 * other name of the same number, so that programs use the name `agent`. Fails with ERR_CONFLICT if
 * the image has another user of that name. */
int account_make(char **words, struct error *err);

/* Takes away the user's write access to everything else on the file system of the root, and prints
 * the path of each change. words[0] is the root, as for account_make(). */
int account_confine(char **words, struct error *err);

#endif
