/* SPDX-License-Identifier: MIT */
/* Declares what only the files of the store share. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "store/store.h"

#define LEASE_NAME "lease"
/* The directory of locks in the state directory. It has these files of a workspace: the command
 * lock, after a command has worked on the workspace; the pass, after the workspace was given a
 * directory; on Linux a second name of the lease, after the workspace was started; the digests of
 * the workspace's records; the lock for changes of these records; and the proof that the machine is
 * cut off. */
#define LOCKS_DIR ".locks"
#define SHARE_PASS ".share-"
#define LEASE_KEPT ".lease-"
#define RECORD_DIGEST ".record-"
#define SESSION_DIGEST ".session-"
#define CHANGE_LOCK ".change-"
#define QUARANTINE_PROOF ".cut-"
#define QUARANTINE_PROOF_ROOM 192
#define RECORD_DIGEST_ROOM 192

/* Sets the reason of an error about a damaged file of the workspace. Returns -1. */
int workspace_give_damaged(const struct workspace *ws, struct error *err);
/* Removes the digests of a workspace's records, when the workspace is removed. */
void record_digest_forget(const struct state_dir *dir, const char *id);

/* Opens the lease, so that the caller can wait until no process has it. Returns a descriptor, which
 * the caller closes, or -1 with an errno. ENOENT: no process of the workspace ever lived. ENXIO: no
 * process of the workspace lives now. Any other errno: the lease cannot be opened. */
int lease_look(const struct workspace *ws);
/* Returns true if the file has the type of a lease. */
bool lease_has_its_type(const struct stat *file);
/* The name that the lease has among the open files of a process. NULL: it can have any name. */
extern const char *const lease_shown_name;
/* Sets ERR_CONFLICT for a lease that is held, and returns -1. The message names the processes that
 * have the lease, if this process can see them. */
int lease_busy(const struct workspace *ws, int lease, struct error *err);
/* Sets the error for a failed operation on the lease, and returns -1. If the lease is damaged, the
 * error names only the damage. */
int lease_error(const struct workspace *ws, int errnum, struct error *err);
/* Writes the path by which commands open the lease, relative to the state directory, to out.
 * Returns true if the file at that path is not a lease. */
#define LEASE_PLACE 320
bool lease_place(const struct workspace *ws, char out[LEASE_PLACE]);

/* Returns true if the directory belongs to root although its owner's number does not show this,
 * because the user namespace of this process does not contain root. linux/nameless.c,
 * darwin/nameless.c */
bool dir_is_nameless_roots(int dir, const struct stat *st);

/* Returns $HOME, or else the home directory of the user's account. The caller frees the path.
 * Returns NULL if neither exists. */
char *home_dir(void);
/* Returns the home directory of the user's account, and ignores $HOME. The caller frees the path.
 * Returns NULL if the account has no home directory. */
char *home_of_account(void);

/* Returns true if digests of the workspace's records exist. Only commands write such digests, so
 * they prove that a command has made the workspace. */
bool state_dir_has_digests(const struct state_dir *dir, const char *id);

#endif
