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

/* To wait for the end of a lease. -1 with errno: ENOENT where nothing ever lived, ENXIO where
 * nothing does. */
int lease_look(const struct workspace *ws);
/* ERR_CONFLICT, with the processes that have it as far as they are to be seen. */
int lease_busy(const struct workspace *ws, int lease, struct error *err);
int lease_error(const struct workspace *ws, int errnum, struct error *err);
/* The processes beside this one that have the lease's file open, for a message to a person: nothing
 * is decided by it. name: "" when it is not to be had. */
typedef void lease_holder_fn(void *data, pid_t pid, const char *name);
void lease_each_holder(int lease, lease_holder_fn *fn, void *data);

/* The workspace whose live supervisor has the file, as its title says it: <stateDir>/<id>. As far
 * as it is to be seen: for a message. */
bool taken_by(int fd, char *out, size_t size);

/* $HOME, else what the user's entry says; malloc'd. NULL: there is none. */
char *home_dir(void);
/* What the user's entry says alone. */
char *home_of_account(void);

#endif
