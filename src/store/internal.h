/* SPDX-License-Identifier: MIT */
/* Between the files of the store. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <sys/types.h>

#include "store/store.h"

#define LEASE_NAME "lease"

/* ERR_DENIED for a directory of another user or one that group or others can write. */
int store_check_directory(int fd, const char *path, struct error *err);

/*
 * flock(fd, operation), waiting until the deadline (monotonic; UINT64_MAX for none). ERR_TIMEOUT
 * when it passes; what is in the message names the thing locked. The lock belongs to fd's open
 * description, as always with flock.
 */
int flock_until(int fd, int operation, uint64_t deadline_ns, const char *what, struct error *err);

/* Writes "qemu-system-x86 (4711), ... and 2 more": the processes beside this one that have the
 * lease's file open, "" when none is to be seen. Returns the pid of the first, or 0. */
pid_t lease_holders(int lease, char *out, size_t size);

/* $HOME, else what the user's entry says; malloc'd. NULL: there is none. */
char *home_dir(void);

#endif
