/* SPDX-License-Identifier: MIT */
/* Functions that only the files of the store share. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "store/store.h"

#define LEASE_NAME "lease"
/* The directory of locks in the state directory, which has these files of a workspace: the command
 * lock, once a command has worked on the workspace; the pass, once the workspace was given a
 * directory; on Linux a second name of the lease, once the workspace has lived; the digests of the
 * workspace's records; the lock of changes of these records; and the proof that the machine is cut
 * off. */
#define LOCKS_DIR ".locks"
#define SHARE_PASS ".share-"
#define LEASE_KEPT ".lease-"
#define RECORD_DIGEST ".record-"
#define SESSION_DIGEST ".session-"
#define CHANGE_LOCK ".change-"
#define QUARANTINE_PROOF ".cut-"
#define QUARANTINE_PROOF_ROOM 192
#define RECORD_DIGEST_ROOM 192

/* Sets the reason of *err, an error about a damaged file of the workspace. Returns -1. */
int workspace_give_damaged(const struct workspace *ws, struct error *err);
/* Removes the digests of the records of a workspace that is removed. */
void record_digest_forget(const struct state_dir *dir, const char *id);

/* Opens the lease, so that the caller can wait until no process has it. Returns a descriptor, which
 * the caller closes, or -1 with an errno. ENOENT: no process of the workspace ever lived. ENXIO: no
 * process of the workspace lives now. With another errno the lease cannot be looked at. */
int lease_look(const struct workspace *ws);
/* Returns whether a file has the type that a lease has. */
bool lease_has_its_type(const struct stat *file);
/* The name by which the lease is found among the open files of a process. NULL: any name. */
extern const char *const lease_shown_name;
/* Sets ERR_CONFLICT and returns -1. The message names the processes that have the lease, if this
 * process can see them. */
int lease_busy(const struct workspace *ws, int lease, struct error *err);
/* Sets the error of a failed operation on the lease, and returns -1. If the lease is damaged, the
 * error says only this. */
int lease_error(const struct workspace *ws, int errnum, struct error *err);
/* Writes the path, below the state directory, by which commands look at the lease. Returns whether
 * the file at that path is no lease. */
#define LEASE_PLACE 320
bool lease_place(const struct workspace *ws, char out[LEASE_PLACE]);

/* Returns whether the directory belongs to root in a case that the owner's number does not tell:
 * the user namespace of this process does not know root. linux/nameless.c, darwin/nameless.c */
bool dir_is_nameless_roots(int dir, const struct stat *st);

/* Returns $HOME, else the home directory of the user's account. The caller frees the path. Returns
 * NULL if both are missing. */
char *home_dir(void);
/* Returns the home directory of the user's account, whatever $HOME says. The caller frees the path.
 * Returns NULL if the account has none. */
char *home_of_account(void);

/* Returns whether digests of the workspace's records exist. Only commands write such digests, so
 * they show that a command has made the workspace. */
bool state_dir_has_digests(const struct state_dir *dir, const char *id);

#endif
