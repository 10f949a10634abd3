/* SPDX-License-Identifier: MIT */
/* Declares the functions that only files of src/store use. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "store/store.h"

#define LEASE_NAME "lease"
/* The directory of locks in the state directory. For each workspace it can have these files: the
 * command lock, after a command has worked on the workspace; the pass, after the workspace was
 * given a directory; the second name of the lease, on Linux, after the workspace was started; the
 * digests of the workspace's records; the lock for changes of these records; and the proof that the
 * machine is cut off. */
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
/* Removes the files with the digests of a workspace's records. Called when the workspace is
 * removed. */
void record_digest_forget(const struct state_dir *dir, const char *id);

/* Opens the lease, so that the caller can wait until no process holds it. Returns a descriptor,
 * which the caller closes, or -1 with an errno. ENOENT: no process of the workspace ever lived.
 * ENXIO: no process of the workspace lives now. Any other errno: the lease cannot be opened. */
int lease_look(const struct workspace *ws);
/* Returns true if the file has the type that a lease has: a FIFO on Linux, a regular file on
 * macOS. */
bool lease_has_its_type(const struct stat *file);
/* The name that the lease has in a list of a process's open files. NULL: the lease can have any
 * name there. */
extern const char *const lease_shown_name;
/* Sets ERR_CONFLICT for a lease that is held, and returns -1. The message names the processes that
 * hold the lease, if this process may see their open files. */
int lease_busy(const struct workspace *ws, int lease, struct error *err);
/* Sets the error for a failed operation on the lease, and returns -1. If the lease is damaged, the
 * error names only the damage. */
int lease_error(const struct workspace *ws, int errnum, struct error *err);
/* Writes the path at which commands open the lease to `out`. The path is relative to the state
 * directory. Returns true if the file at that path has a type that no lease has. */
#define LEASE_PLACE 320
bool lease_place(const struct workspace *ws, char out[LEASE_PLACE]);

/* Returns true if the directory belongs to root, although the number of its owner does not show
 * this: the user namespace of this process does not contain root. The function is in
 * linux/nameless.c and darwin/nameless.c. */
bool dir_is_nameless_roots(int dir, const struct stat *st);

/* Returns $HOME if it is set, and the home directory of the user's account otherwise. The caller
 * frees the path. Returns NULL if the user has no home directory. */
char *home_dir(void);
/* Returns the home directory of the user's account. Ignores $HOME. The caller frees the path.
 * Returns NULL if the account has no home directory. */
char *home_of_account(void);

/* Returns true if digests of the workspace's records exist. Only commands write such digests, so
 * they prove that a command has made the workspace. */
bool state_dir_has_digests(const struct state_dir *dir, const char *id);

#endif
