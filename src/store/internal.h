/* SPDX-License-Identifier: MIT */
/* Between the files of the store. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <sys/types.h>

#include "store/store.h"

#define LEASE_NAME "lease"
/* In the state directory: a file for each workspace that a command works on, and the pass of one
 * that is given a directory. */
#define LOCKS_DIR ".locks"
#define SHARE_PASS ".share-"

/* ERR_DENIED for a directory of another user or one that group or others can write. */
int store_check_directory(int fd, const char *path, struct error *err);

/* Writes "qemu-system-x86 (4711), ... and 2 more": the processes beside this one that have the
 * lease's file open, "" when none is to be seen. Returns the pid of the first, or 0. Guards are
 * left out: who ends one has ended nothing. */
pid_t lease_holders(int lease, char *out, size_t size);

/* $HOME, else what the user's entry says; malloc'd. NULL: there is none. */
char *home_dir(void);
/* What the user's entry says alone. */
char *home_of_account(void);

#endif
