/* SPDX-License-Identifier: MIT */
/* Functions that only the files of the store share. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "store/store.h"

#define LEASE_NAME "lease"
/* The directory of locks in the state directory. It has these files for a workspace: the command
 * lock while a command works on the workspace; the pass of a workspace that is given a directory;
 * on Linux a second name of the lease of a workspace that lives or has lived; the digests of the
 * workspace's records; the lock of changes of these records; and the proof that the machine is cut
 * off. */
#define LOCKS_DIR ".locks"
#define SHARE_PASS ".share-"
#define LEASE_KEPT ".lease-"
#define RECORD_DIGEST ".record-"
#define SESSION_DIGEST ".session-"
#define CHANGE_LOCK ".change-"
#define CUT_PROOF ".cut-"
#define CUT_PROOF_ROOM 192
#define RECORD_DIGEST_ROOM 192

/* Gives err the reason that a file of the workspace is damaged. Returns -1. */
int workspace_give_damaged(const struct workspace *ws, struct error *err);
/* Removes the digests of the records of a workspace that is removed. */
void record_digest_forget(const struct state_dir *dir, const char *id);

/* Opens the lease to wait for its end. Returns a descriptor, which the caller closes; -1 with errno
 * ENOENT if nothing of the workspace ever lived, ENXIO if nothing of it lives now. */
int lease_look(const struct workspace *ws);
/* Returns whether a file has the type that a lease has. */
bool lease_has_its_type(const struct stat *file);
/* The name by which the lease is found among the open files of a process. NULL: any name. */
extern const char *const lease_shown_name;
/* Sets ERR_CONFLICT and names the processes that hold the lease, as far as they can be seen. */
int lease_busy(const struct workspace *ws, int lease, struct error *err);
int lease_error(const struct workspace *ws, int errnum, struct error *err);
/* Writes the path, below the state directory, by which commands look at the lease. Returns whether
 * that path has something that is no lease. */
#define LEASE_PLACE 320
bool lease_place(const struct workspace *ws, char out[LEASE_PLACE]);

/* Returns whether the directory belongs to root although our user namespace knows neither the
 * directory's owner nor root. linux/nameless.c, darwin/nameless.c */
bool dir_is_nameless_roots(int dir, const struct stat *st);

/* Returns $HOME, else the home directory in the user's account entry. The caller frees the path.
 * Returns NULL if neither exists. */
char *home_dir(void);
/* Returns the home directory in the user's account entry and ignores $HOME. The caller frees the
 * path. */
char *home_of_account(void);

/* Returns whether digests of the workspace's records exist. Only commands write such digests. */
bool state_dir_has_digests(const struct state_dir *dir, const char *id);

#endif
